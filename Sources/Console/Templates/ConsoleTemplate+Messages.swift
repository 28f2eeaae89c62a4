extension ConsoleTemplate {
    static let messagesText = page(
        """
        <div class="head"><h1>Messages</h1>{{#maySend}}<a class="button primary" href="{{root}}/compose">Compose</a>{{/maySend}}</div>
        <form method="get" action="{{root}}/messages" class="filter card" role="search">
        <label>State<select name="state">{{#states}}<option value="{{value}}"{{#selected}} selected{{/selected}}>{{title}}</option>{{/states}}</select></label>
        <label>Target <span class="dim">topic, user, FID</span><input name="target" value="{{target}}"></label>
        <label>Label<input name="label" value="{{label}}"></label>
        <label>Sender<input name="sender" value="{{sender}}" placeholder="key, account or operator"></label>
        <label>From<input type="date" name="from" value="{{from}}"></label>
        <label>To<input type="date" name="to" value="{{to}}"></label>
        <label class="grow">Id<input name="id" value="" placeholder="message id or name"></label>
        <div class="actions"><button class="primary">Find</button>{{#isFiltered}}<a class="button" href="{{root}}/messages">Clear</a>{{/isFiltered}}</div>
        </form>
        <div data-live-part>{{>messagesLive}}</div>
        """)

    static let messagesLiveText = """
        {{#hasMessages}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Message</th><th scope="col">State</th><th scope="col">Progress</th><th scope="col" class="num">Recipients</th><th scope="col" class="num">Accepted</th><th scope="col" class="num">Received</th><th scope="col" class="num">Opened</th></tr></thead><tbody>
        {{#messages}}<tr><td data-label="Message"><a href="{{url}}"><strong>{{title}}</strong></a><br><span class="dim">{{target}}{{#tag}} · {{tag}}{{/tag}} · {{{time}}} · {{sender}}</span></td><td data-label="State"><span class="tag {{stateKind}}">{{state}}</span></td><td data-label="Progress" class="bar-cell">{{>progress}}</td><td data-label="Recipients" class="num">{{recipients}}</td><td data-label="Accepted" class="num">{{accepted}}</td><td data-label="Received" class="num">{{received}}</td><td data-label="Opened" class="num">{{opened}}</td></tr>
        {{/messages}}</tbody></table></div>{{/hasMessages}}
        {{^hasMessages}}<section class="card empty"><h2>No message found</h2><p>{{emptyText}}</p>{{#maySend}}<p><a class="button" href="{{root}}/compose">Compose a message</a></p>{{/maySend}}</section>{{/hasMessages}}
        {{>pager}}
        """

    static let reportText = page(
        """
        <p class="crumbs"><a href="{{root}}/messages">Messages</a></p>
        <div class="head"><h1>{{heading}}</h1>
        {{#maySend}}<a class="button" href="{{root}}/compose?from={{id}}">Send again</a>{{/maySend}}</div>
        <div class="split">
        <div data-live-part>{{>reportLive}}</div>
        <aside>
        {{#hasContent}}{{>phone}}{{/hasContent}}
        <section class="card"><h2>Content</h2>
        {{#isRemoved}}<p class="dim">The payload was removed by the retention of the project. The figures stay.</p>{{/isRemoved}}
        {{#json}}<details><summary>The message as it was sent</summary><pre><code>{{json}}</code></pre></details>{{/json}}
        {{#sizes}}<div class="size"><div>{{title}} <span class="num">{{bytes}} of 4,096 bytes</span></div></div>{{/sizes}}
        </section>
        <section class="card"><h2>Who sent it</h2>
        <dl><dt>Sender</dt><dd>{{sender}}</dd>{{#address}}<dt>Address</dt><dd>{{address}}</dd>{{/address}}<dt>Role</dt><dd>{{senderRole}}</dd>
        <dt>Accepted</dt><dd>{{{accepted}}}</dd><dt>Expires</dt><dd>{{{expires}}}</dd>{{#completed}}<dt>Complete</dt><dd>{{{completed}}}</dd>{{/completed}}
        {{#pace}}<dt>Pace</dt><dd>{{pace}}</dd>{{/pace}}{{#label}}<dt>Label</dt><dd>{{label}}</dd>{{/label}}<dt>Id</dt><dd><code class="wrap">{{id}}</code></dd></dl>
        </section>
        <section class="card"><h2>The same from a terminal</h2><pre><code>herald report {{id}}
        curl {{publicURL}}/v1/projects/{{project}}/messages/{{id}} \\
          -H "Authorization: Bearer $HERALD_KEY"</code></pre></section>
        </aside>
        </div>
        """)

    static let reportLiveText = """
        <section class="card"><div class="head"><h2>{{target}} <span class="tag {{stateKind}}">{{state}}</span></h2>
        {{#mayOperate}}<div class="actions">{{#controls}}<form method="post" action="{{url}}">\(token)<button{{#isDanger}} class="danger"{{/isDanger}}>{{title}}</button></form>{{/controls}}</div>{{/mayOperate}}</div>
        {{>progress}}
        <p class="law"><strong>{{law.recipients}}</strong> recipients = <span class="c-accepted">{{law.accepted}} accepted</span> + <span class="c-rejected">{{law.rejected}} rejected</span> + <span class="c-expired">{{law.expired}} expired</span> + <span class="c-cancelled">{{law.cancelled}} cancelled</span> + <span class="c-flight">{{law.inFlight}} in flight</span> {{#law.holds}}<span class="good" title="The two sides are counted independently.">✓</span>{{/law.holds}}{{^law.holds}}<span class="bad">✗ does not balance</span>{{/law.holds}}</p>
        {{#audience}}<p class="dim">{{audience}}</p>{{/audience}}
        <p><a href="{{deliveries}}">Deliveries, one by one</a></p></section>
        <section class="card"><h2>Funnel</h2>
        <ol class="funnel">{{#funnel}}<li><div><span>{{title}}</span><strong>{{value}}</strong><span class="dim">{{share}}</span></div>{{>progress}}</li>{{/funnel}}</ol>
        <p class="dim">Accepted is the push service’s word. Received and opened come from devices whose app reports receipts; clicked from the message’s links.</p></section>
        <section class="card"><h2>Reasons</h2>
        {{#hasReasons}}<ul class="reasons">{{#reasons}}<li><div><a href="{{url}}"><strong>{{reason}}</strong></a> <span class="num">{{count}}</span></div>{{>progress}}<p class="dim">{{meaning}}</p></li>{{/reasons}}</ul>{{/hasReasons}}
        {{^hasReasons}}<p class="dim">No delivery was rejected.</p>{{/hasReasons}}
        {{#passedOver}}<h3>Passed over</h3><ul>{{#rows}}<li><strong>{{count}}</strong> {{text}}</li>{{/rows}}</ul>{{/passedOver}}</section>
        <section class="card"><h2>Latency <span class="dim">from accept to the push service’s answer</span></h2>
        {{#latency}}<p class="law"><strong>{{p50}}</strong> half · <strong>{{p90}}</strong> 90 of 100 · <strong>{{p99}}</strong> 99 of 100</p>{{{chart}}}{{/latency}}
        {{^latency}}<p class="dim">No delivery has been accepted yet.</p>{{/latency}}</section>
        {{#hasPlatforms}}<section class="card"><h2>Platforms</h2><div class="table"><table class="cards"><thead><tr><th scope="col">Platform</th><th scope="col" class="num">Recipients</th><th scope="col" class="num">Accepted</th><th scope="col" class="num">Rejected</th><th scope="col" class="num">Expired</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Passed over</th></tr></thead><tbody>
        {{#platforms}}<tr><td data-label="Platform">{{name}}</td><td data-label="Recipients" class="num">{{recipients}}</td><td data-label="Accepted" class="num">{{accepted}}</td><td data-label="Rejected" class="num">{{rejected}}</td><td data-label="Expired" class="num">{{expired}}</td><td data-label="In flight" class="num">{{inFlight}}</td><td data-label="Passed over" class="num">{{passedOver}}</td></tr>{{/platforms}}
        </tbody></table></div></section>{{/hasPlatforms}}
        {{#hasLinks}}<section class="card"><h2>Links</h2><table><thead><tr><th scope="col">Link</th><th scope="col" class="num">Clicks</th></tr></thead><tbody>{{#links}}<tr><td>{{url}}</td><td class="num">{{clicks}}</td></tr>{{/links}}</tbody></table></section>{{/hasLinks}}
        """

    static let deliveriesText = page(
        """
        <p class="crumbs"><a href="{{root}}/messages">Messages</a> › <a href="{{report}}">{{id}}</a></p>
        <div class="head"><h1>Deliveries</h1>
        <a class="button" href="{{exportCSV}}">Export CSV</a><a class="button" href="{{exportJSON}}">Export NDJSON</a></div>
        <nav class="tabs" aria-label="Outcome">{{#outcomes}}<a href="{{url}}"{{#current}} aria-current="true"{{/current}}>{{title}}</a>{{/outcomes}}</nav>
        {{#hasRows}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Device</th><th scope="col">App</th><th scope="col">Outcome</th><th scope="col">Reason</th><th scope="col" class="num">Attempts</th><th scope="col" class="num">Latency</th><th scope="col">Ended</th><th scope="col">Receipts</th></tr></thead><tbody>
        {{#rows}}<tr><td data-label="Device"><a href="{{url}}"><code>{{device}}</code></a></td><td data-label="App">{{app}}</td><td data-label="Outcome"><span class="tag {{kind}}">{{outcome}}</span></td><td data-label="Reason">{{reason}}</td><td data-label="Attempts" class="num">{{attempts}}</td><td data-label="Latency" class="num">{{latency}}</td><td data-label="Ended">{{{ended}}}</td><td data-label="Receipts">{{receipts}}</td></tr>
        {{/rows}}</tbody></table></div>{{/hasRows}}
        {{^hasRows}}<section class="card empty"><h2>No delivery here</h2><p>None ended this way. Choose another outcome above.</p></section>{{/hasRows}}
        {{>pager}}
        """)

    static let phoneText = """
        <section class="preview" aria-label="Preview">
        <figure class="device iphone"><figcaption>iPhone</figcaption><div class="screen"><div class="push"><div class="app-icon" aria-hidden="true"></div><div class="push-text"><p class="push-title"><span data-show="title">{{preview.title}}</span><span class="push-time">now</span></p><p class="push-body" data-show="body">{{preview.body}}</p></div></div></div></figure>
        <figure class="device android"><figcaption>Android</figcaption><div class="screen"><div class="push"><p class="push-app"><span class="app-icon" aria-hidden="true"></span>{{preview.app}} · now</p><p class="push-title" data-show="title">{{preview.title}}</p><p class="push-body" data-show="body">{{preview.body}}</p></div></div></figure>
        <figure class="device browser"><figcaption>Browser</figcaption><div class="screen"><div class="push"><div class="app-icon" aria-hidden="true"></div><div class="push-text"><p class="push-title" data-show="title">{{preview.title}}</p><p class="push-body" data-show="body">{{preview.body}}</p><p class="push-app">{{preview.host}}</p></div></div></div></figure>
        </section>
        """
}
