extension ConsoleTemplate {
    static let webhooksText = page(
        """
        <div class="head"><h1>Webhooks</h1></div>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#isOff}}<section class="card empty"><h2>Events for your backends</h2><p>{{reason}} What becomes of messages can be read in order, with a long wait instead of polling:</p><pre tabindex="0"><code>GET /v1/projects/{{project}}/events?after=now&amp;wait=30s</code></pre><p>In a terminal: <code>herald tail</code></p></section>{{/isOff}}
        {{^isOff}}
        {{#hasRows}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Endpoint</th><th scope="col">State</th><th scope="col">Backlog</th><th scope="col">Gets</th><th scope="col">Next attempt</th></tr></thead><tbody>
        {{#rows}}<tr><td data-label="Endpoint" class="wrap"><a href="{{self}}"><strong>{{url}}</strong></a><br><span class="dim">{{description}}</span></td><td data-label="State"><span class="tag {{kind}}">{{state}}</span>{{#failingSince}}<br><span class="dim">since {{{failingSince}}}</span>{{/failingSince}}</td><td data-label="Backlog">{{backlog}}</td><td data-label="Gets">{{typeCount}}</td><td data-label="Next attempt">{{#next}}{{{next}}}{{/next}}{{^next}}–{{/next}}</td></tr>
        {{/rows}}</tbody></table></div>{{/hasRows}}
        {{^hasRows}}<section class="card empty"><h2>No webhook yet</h2><p>A webhook posts signed events to a backend of yours, in their order, until it takes them. Without one, events can be read: <code>GET /v1/projects/{{project}}/events</code>, or <code>herald tail</code> in a terminal.</p></section>{{/hasRows}}
        {{#mayAdmin}}<form method="post" action="{{root}}/webhooks">\(token)<input type="hidden" name="_back" value="{{root}}/webhooks">
        <fieldset class="card"><legend>Make a webhook</legend>
        <label>URL<input type="url" name="url" value="{{f.url}}" placeholder="https://backend.example.com/herald" required></label>
        <label>Description <span class="dim">optional</span><input name="description" value="{{f.description}}" maxlength="200"></label>
        <label>Begins with<select name="start"><option value="now">what happens from now on</option><option value="beginning">the oldest event that is kept</option></select></label>
        <label class="check"><input type="checkbox" name="failures"> Only what went wrong</label>
        <label class="check"><input type="checkbox" name="asymmetric"> Sign with a key pair (v1a), too</label>
        </fieldset>
        <fieldset class="card"><legend>Types of events</legend><div class="fields">{{#types}}<label class="check"><input type="checkbox" name="{{name}}"{{#checked}} checked{{/checked}}> {{title}}</label>{{/types}}</div></fieldset>
        <div class="actions"><button class="primary">Make webhook</button><span class="dim">A project may have {{limit}}.</span></div></form>{{/mayAdmin}}
        {{/isOff}}
        """)

    static let webhookText = page(
        """
        <p class="crumbs"><a href="{{root}}/webhooks">Webhooks</a></p>
        <div class="head"><h1 class="wrap">{{url}}</h1><span class="tag {{kind}}">{{state}}</span></div>
        {{#notice}}<p class="note good" role="status">{{notice}}</p>{{/notice}}
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#hasSecrets}}<section class="card note good" role="status"><h2>Secret</h2><p>It is shown only now. Your backend checks signatures with it.</p>{{#secrets}}<pre tabindex="0"><code class="wrap">{{value}}</code></pre>{{/secrets}}</section>{{/hasSecrets}}
        <div class="grid two">
        <section class="card"><h2>Endpoint <span class="dim">{{backlog}}</span></h2><dl>{{#facts}}<dt>{{name}}</dt><dd class="wrap">{{#html}}{{{html}}}{{/html}}{{text}}</dd>{{/facts}}</dl></section>
        {{#mayAdmin}}<section class="card"><h2>Change</h2>
        <div class="actions"><form method="post" action="{{self}}/test">\(token)<button>Send a test</button></form>
        <form method="post" action="{{self}}/state">\(token){{#isEnabled}}<button name="act" value="disable">Disable</button>{{/isEnabled}}{{^isEnabled}}<button class="primary" name="act" value="enable">Enable</button>{{/isEnabled}}</form>
        <form method="post" action="{{self}}/rotate">\(token)<input type="hidden" name="_back" value="{{self}}"><button>New secret</button></form>
        <details class="confirm"><summary class="button danger">Delete</summary><form method="post" action="{{self}}/delete">\(token)<input type="hidden" name="_back" value="{{self}}"><p>Its attempts and dead letters are deleted, too.</p><button class="danger">Delete this webhook</button></form></details></div>
        <h3>Replay</h3>{{#isReplaying}}<p class="dim">A replay is under way.</p>{{/isReplaying}}{{^isReplaying}}<form method="post" action="{{self}}/replay" class="filter">\(token)<label>From <span class="dim">sequence or time</span><input name="from" placeholder="oldest kept"></label><label>To<input name="to" placeholder="last sent"></label><label class="check"><input type="checkbox" name="failed"> Only dead letters</label><div class="actions"><button>Send once more</button></div></form>{{/isReplaying}}
        </section>{{/mayAdmin}}
        </div>
        <section class="card"><h2>Last attempts</h2>
        {{#hasAttempts}}<div class="table"><table class="cards"><thead><tr><th scope="col">Time</th><th scope="col">Type</th><th scope="col" class="num">Events</th><th scope="col">Outcome</th><th scope="col">Status</th><th scope="col">Latency</th><th scope="col">Why</th></tr></thead><tbody>
        {{#attempts}}<tr><td data-label="Time">{{{time}}}</td><td data-label="Type">{{type}}</td><td data-label="Events" class="num">{{events}}</td><td data-label="Outcome"><span class="tag {{kind}}">{{outcome}}</span></td><td data-label="Status">{{status}}</td><td data-label="Latency">{{latency}}</td><td data-label="Why" class="wrap">{{detail}}{{#answer}}<br><span class="dim">{{answer}}</span>{{/answer}}</td></tr>
        {{/attempts}}</tbody></table></div>{{/hasAttempts}}{{^hasAttempts}}<p class="dim">Nothing was sent yet.</p>{{/hasAttempts}}</section>
        <section class="card"><h2>Dead letters <span class="dim">given up, kept for a while</span></h2>
        {{#hasLetters}}<div class="table"><table class="cards"><thead><tr><th scope="col">Event</th><th scope="col">Type</th><th scope="col">Given up</th><th scope="col">Why</th>{{#mayAdmin}}<th scope="col">Change</th>{{/mayAdmin}}</tr></thead><tbody>
        {{#letters}}<tr><td data-label="Event">{{sequence}}</td><td data-label="Type">{{type}}</td><td data-label="Given up">{{{time}}}</td><td data-label="Why">{{failure}}</td>{{#mayAdmin}}<td data-label="Change"><form method="post" action="{{self}}/retry" class="inline">\(token)<input type="hidden" name="sequence" value="{{sequence}}"><button>Send<span class="hidden"> {{sequence}}</span> again</button></form></td>{{/mayAdmin}}</tr>
        {{/letters}}</tbody></table></div>{{#areMoreLetters}}<p class="dim">These are the first; the API lists all: <code>GET /v1/projects/{{project}}/webhooks/{{id}}/deadLetters</code>.</p>{{/areMoreLetters}}
        {{#mayAdmin}}<form method="post" action="{{self}}/retry">\(token)<button>Send all again</button></form>{{/mayAdmin}}{{/hasLetters}}{{^hasLetters}}<p class="dim">None.</p>{{/hasLetters}}</section>
        """)
}
