extension ConsoleTemplate {
    static let deviceText = page(
        """
        <div class="head"><h1>Device</h1></div>
        <form method="post" action="{{root}}/device" class="filter card" role="search">\(token)
        <label class="grow">Token, FID, user or device token<input name="q" value="{{q}}" required autofocus></label>
        <label class="grow">Message <span class="dim">optional: why did it not get this one?</span><input name="message" value="{{message}}" placeholder="message id"></label>
        <div class="actions"><button class="primary">Look up</button></div>
        </form>
        {{#notFound}}<section class="card empty"><h2>No such device</h2><p>{{notFound}}</p></section>{{/notFound}}
        {{#hint}}<section class="card empty"><h2>Why did it not get it?</h2><p>Look a device up by whatever you have: its registration token, its FID, your user’s id, or the device token of Apple or Google. The answer is a sentence, with the evidence below it. Members of a topic are in <a href="{{root}}/topics">Topics</a>; a user’s devices in <a href="{{root}}/users">Users</a>.</p></section>{{/hint}}
        {{#matches}}<section class="card"><h2>{{title}}</h2><ul class="rows">{{#rows}}<li><div><a href="{{url}}"><code>{{id}}</code></a> <span class="tag {{kind}}">{{state}}</span><br><span class="dim">{{app}} · refreshed {{{refreshed}}}</span></div></li>{{/rows}}</ul></section>{{/matches}}
        {{#device}}
        <section class="card verdict {{kind}}"><p class="label">Why did it not get it?</p><h2>{{verdict}}</h2><p class="dim">{{code}}</p></section>
        <div class="grid two">
        <section class="card"><h2>Registration <span class="tag {{kind}}">{{state}}</span></h2>
        <dl>{{#facts}}<dt>{{name}}</dt><dd>{{#html}}{{{html}}}{{/html}}{{text}}</dd>{{/facts}}</dl>
        {{#mayOperate}}<div class="actions">
        {{#canLift}}<form method="post" action="{{url}}/lift">\(token)<button>Lift the quarantine</button></form>{{/canLift}}
        {{#canEnd}}<details class="confirm"><summary class="button danger">End it</summary><form method="post" action="{{url}}/end">\(token)<p>It gets nothing any more. Its app can register again.</p><button class="danger">End this registration</button></form></details>{{/canEnd}}
        </div>{{/mayOperate}}
        {{#maySend}}{{#canEnd}}<p><a class="button" href="{{root}}/compose?device={{id}}">Send it a message</a></p>{{/canEnd}}{{/maySend}}
        </section>
        <section class="card"><h2>Topics</h2>{{#hasTopics}}<ul class="tags">{{#topics}}<li><a href="{{url}}">{{name}}</a></li>{{/topics}}</ul>{{/hasTopics}}{{^hasTopics}}<p class="dim">It is subscribed to none: broadcasts to topics do not reach it.</p>{{/hasTopics}}
        <h2>Changes of user and device token</h2>{{#hasChanges}}<ul class="rows">{{#changes}}<li><div>{{text}}<br><span class="dim">{{{time}}} · {{by}}</span></div></li>{{/changes}}</ul>{{/hasChanges}}{{^hasChanges}}<p class="dim">None.</p>{{/hasChanges}}
        </section>
        </div>
        <section class="card"><h2>History</h2>
        {{#hasRows}}<div class="table"><table class="cards"><thead><tr><th scope="col">Message</th><th scope="col">Outcome</th><th scope="col">Reason</th><th scope="col" class="num">Attempts</th><th scope="col" class="num">Latency</th><th scope="col">Ended</th><th scope="col">Receipts</th></tr></thead><tbody>
        {{#rows}}<tr><td data-label="Message"><a href="{{url}}"><code>{{id}}</code></a></td><td data-label="Outcome"><span class="tag {{kind}}">{{outcome}}</span></td><td data-label="Reason">{{reason}}<br><span class="dim">{{meaning}}</span></td><td data-label="Attempts" class="num">{{attempts}}</td><td data-label="Latency" class="num">{{latency}}</td><td data-label="Ended">{{{ended}}}</td><td data-label="Receipts">{{receipts}}</td></tr>{{/rows}}
        </tbody></table></div>{{/hasRows}}
        {{^hasRows}}<p class="dim">Nothing was sent to it yet, or retention took it.</p>{{/hasRows}}
        </section>
        {{/device}}
        {{>pager}}
        """)

    static let usersText = page(
        """
        <p class="crumbs"><a href="{{root}}/device">Device</a></p>
        <div class="head"><h1>Users</h1></div>
        <form method="get" action="{{root}}/users" class="filter card" role="search">
        <label class="grow">User id<input name="user" value="{{user}}" required autofocus></label>
        <div class="actions"><button class="primary">Show devices</button></div></form>
        {{#shown}}<section class="card"><h2>{{user}} <span class="dim">{{count}}</span></h2>
        {{#hasRows}}<ul class="rows">{{#rows}}<li><div><a href="{{url}}"><code>{{id}}</code></a> <span class="tag {{kind}}">{{state}}</span><br><span class="dim">{{app}} · refreshed {{{refreshed}}}</span></div></li>{{/rows}}</ul>{{/hasRows}}
        {{^hasRows}}<p class="dim">No active registration has this user. An app says its user when it registers.</p>{{/hasRows}}
        {{#maySend}}{{#hasRows}}<p><a class="button" href="{{root}}/compose?user={{userEncoded}}">Send to this user</a></p>{{/hasRows}}{{/maySend}}
        {{#mayAdmin}}<details class="confirm"><summary class="button danger">Erase this person</summary><form method="post" action="{{root}}/users/erase">\(token)<input type="hidden" name="user" value="{{user}}"><p>Ends the registrations, removes what messages said to the person alone, and the name wherever it stands. What the ledger counts stays as numbers.</p><label>Type the user id to confirm<input name="confirm" required></label><button class="danger">Erase for good</button></form></details>{{/mayAdmin}}
        </section>{{/shown}}
        {{^shown}}<section class="card empty"><h2>Users are yours</h2><p>A user id is what your apps say when they register. Type one to see the devices, or send to all of them with one message.</p></section>{{/shown}}
        """)

    static let topicsText = page(
        """
        <div class="head"><h1>Topics</h1></div>
        <form method="get" action="{{root}}/topics" class="filter card" role="search">
        <label class="grow">Name begins with<input name="prefix" value="{{prefix}}"></label><div class="actions"><button class="primary">Find</button></div></form>
        {{#hasTopics}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Topic</th><th scope="col" class="num">Subscribers</th><th scope="col">Share of the largest shown</th><th scope="col"><span class="hidden">Act</span></th></tr></thead><tbody>
        {{#topics}}<tr><td data-label="Topic"><a href="{{url}}"><strong>{{name}}</strong></a></td><td data-label="Subscribers" class="num">{{count}}</td><td data-label="Share" class="bar-cell">{{>progress}}</td><td><a href="{{compose}}">Send<span class="hidden"> to {{name}}</span></a></td></tr>{{/topics}}
        </tbody></table></div>{{/hasTopics}}
        {{^hasTopics}}<section class="card empty"><h2>No topic here</h2><p>A topic begins with its first subscriber. Apps and backends subscribe devices, for example:</p><pre><code>herald topic subscribe news TOKEN</code></pre></section>{{/hasTopics}}
        {{>pager}}
        """)

    static let topicText = page(
        """
        <p class="crumbs"><a href="{{root}}/topics">Topics</a></p>
        <div class="head"><h1>{{topic}}</h1>{{#maySend}}<a class="button primary" href="{{compose}}">Send to this topic</a>{{/maySend}}</div>
        <section class="tiles"><div class="tile"><p class="label">Subscribers</p><p class="figure">{{count}}</p><p class="dim">active registrations</p></div>
        <div class="tile"><p class="label">Joined</p><p class="figure">{{joined}}</p><p class="dim">in the last 30 days</p></div>
        <div class="tile"><p class="label">Left</p><p class="figure">{{left}}</p><p class="dim">in the last 30 days</p></div></section>
        <section class="card"><h2>Who joined and left <span class="dim">last 30 days</span></h2>{{{chart}}}</section>
        <section class="card"><h2>Members</h2>
        {{#hasRows}}<ul class="rows">{{#rows}}<li><div><a href="{{url}}"><code>{{id}}</code></a> <span class="tag {{kind}}">{{state}}</span><br><span class="dim">{{app}} · since {{{since}}}</span></div></li>{{/rows}}</ul>{{/hasRows}}
        {{^hasRows}}<p class="dim">It has no subscriber now.</p>{{/hasRows}}
        </section>
        {{>pager}}
        """)

    static let appsText = page(
        """
        <p class="crumbs"><a href="{{root}}">Overview</a></p>
        <div class="head"><h1>Apps and credentials</h1></div>
        {{#apps}}<section class="card"><h2>{{id}} <span class="tag">{{platform}}</span> <span class="tag {{kind}}">{{health}}</span></h2>
        <dl>{{#facts}}<dt>{{name}}</dt><dd>{{text}}</dd>{{/facts}}</dl>
        {{#hasCredentials}}<div class="table"><table class="cards"><thead><tr><th scope="col">Signs in with</th><th scope="col">File from</th><th scope="col">Valid until</th><th scope="col">Last used</th><th scope="col">Last error</th></tr></thead><tbody>
        {{#credentials}}<tr><td data-label="Signs in with" class="wrap"><span class="dot {{kind}}"></span><code>{{name}}</code><br><span class="dim">{{what}} · {{file}}</span></td><td data-label="File from">{{{from}}}</td><td data-label="Valid until">{{{until}}}</td><td data-label="Last used">{{{used}}}</td><td data-label="Last error" class="wrap">{{#error}}<strong>{{error}}</strong> {{{errorTime}}}{{#meaning}}<br><span class="dim">{{meaning}}</span>{{/meaning}}{{/error}}{{^error}}none{{/error}}</td></tr>{{/credentials}}
        </tbody></table></div>{{/hasCredentials}}</section>{{/apps}}
        {{^apps}}<section class="card empty"><h2>No app yet</h2><p>Add one to the project’s file, then send SIGHUP to the gateway.</p></section>{{/apps}}
        <p class="dim">A key has no date of its own: its age is that of its file, as it was read. Use and errors are what this gateway has seen since it last opened the connections; those to push services of browsers are closed after ten minutes without a push.</p>
        <section class="card"><h2>Credentials and connections</h2>
        {{#upstreams}}<div class="row"><div><span class="dot {{kind}}"></span><strong>{{name}}</strong><br><span class="dim">{{text}}</span>{{#failure}}<br><span class="bad">Last error: {{failure}}</span>{{/failure}}</div></div>{{/upstreams}}
        {{^upstreams}}<p class="dim">No connection is open. They are opened with the first push.</p>{{/upstreams}}
        <h3>Certificates</h3>
        {{#certificates}}<div class="row"><div><span class="dot {{kind}}"></span><strong>{{subject}}</strong><br><span class="dim">{{file}} · valid until {{{until}}}</span></div></div>{{/certificates}}
        {{^certificates}}<p class="dim">None: keys do not expire.</p>{{/certificates}}
        <p class="dim">To test them against the push services: <code>herald doctor</code></p></section>
        """)

    static let settingsText = page(
        """
        <p class="crumbs"><a href="{{root}}/access">Access</a></p>
        <div class="head"><h1>Settings</h1></div>
        <p class="dim">As read from the configuration and in force. Secrets are not shown; what is changed in the file holds after a restart, project files after SIGHUP.</p>
        {{#sections}}<section class="card"><h2>{{title}}</h2><dl>{{#rows}}<dt><code>{{name}}</code></dt><dd>{{value}}</dd>{{/rows}}</dl></section>{{/sections}}
        """)
}
