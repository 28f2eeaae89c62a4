extension ConsoleTemplate {
    static let overviewText = page(
        """
        <div class="head"><h1>Overview</h1>
        <nav class="tabs" aria-label="Span">{{#spans}}<a href="{{url}}"{{#current}} aria-current="true"{{/current}}>{{title}}</a>{{/spans}}</nav>
        {{#maySend}}<a class="button primary" href="{{root}}/compose">Compose</a>{{/maySend}}</div>
        <div data-live-part>{{>overviewLive}}</div>
        """)

    static let overviewLiveText = """
        {{#isEmpty}}<section class="card empty"><h2>Nothing was sent yet</h2>
        <p>Register a device, then send to it: <a href="{{root}}/compose">compose a message</a>, or let a backend do it with an API key of <a href="{{root}}/access">Access</a>.</p>
        <pre><code>curl {{publicURL}}/v1/projects/{{project}}/messages:send \\
          -H "Authorization: Bearer $HERALD_KEY" \\
          -d '{"message": {"topic": "news", "notification": {"title": "Hello", "body": "It works."}}}'</code></pre></section>{{/isEmpty}}
        {{#problems}}<p class="note {{kind}}" role="alert"><strong>{{title}}</strong> {{text}}</p>{{/problems}}
        <section class="tiles" aria-label="Figures">
        {{#tiles}}<div class="tile {{kind}}"><p class="label">{{label}}</p><p class="figure">{{value}}</p><p class="dim">{{detail}}</p></div>{{/tiles}}
        </section>
        <section class="card"><h2>Deliveries <span class="dim">{{spanText}}</span></h2>
        {{{chart}}}
        </section>
        <div class="grid two">
        <section class="card"><h2>Failures by reason <span class="dim">last hour</span></h2>
        {{#hasReasons}}<ul class="reasons">{{#reasons}}<li><div><strong>{{reason}}</strong> <span class="tag">{{outcome}}</span> <span class="num">{{count}}</span></div>{{>progress}}<p class="dim">{{meaning}}</p></li>{{/reasons}}</ul>{{/hasReasons}}
        {{^hasReasons}}<p class="dim">Every delivery of the last hour was accepted, or none has ended. Failures appear here with what they mean.</p>{{/hasReasons}}
        </section>
        <section class="card"><h2>Lanes and backlog</h2>
        {{#hasLanes}}<div class="table"><table class="cards"><thead><tr><th scope="col">Lane</th><th scope="col">App</th><th scope="col" class="num">Waiting</th><th scope="col" class="num">In flight</th><th scope="col" class="num">Paused</th></tr></thead><tbody>
        {{#lanes}}<tr><td data-label="Lane">{{lane}}</td><td data-label="App">{{app}}</td><td data-label="Waiting" class="num">{{waiting}}</td><td data-label="In flight" class="num">{{inFlight}}</td><td data-label="Paused" class="num">{{paused}}</td></tr>{{/lanes}}
        </tbody></table></div>{{/hasLanes}}{{^hasLanes}}<p class="dim">Nothing waits: everything that was accepted has ended.</p>{{/hasLanes}}
        <h3>Pauses</h3>
        {{#pauses}}<p class="note warn"><strong>{{part}}</strong> since {{{since}}}: {{reason}}. Next try {{{next}}}.</p>{{/pauses}}{{^pauses}}<p class="dim">No push service is paused.</p>{{/pauses}}
        </section>
        <section class="card"><h2>Push services</h2>
        {{#upstreams}}<div class="row"><div><span class="dot {{kind}}"></span><strong>{{name}}</strong><br><span class="dim">{{text}}</span></div></div>{{/upstreams}}
        {{^upstreams}}<p class="dim">No connection is open. They are opened with the first push.</p>{{/upstreams}}
        <p><a href="{{root}}/apps">Apps and credentials</a></p>
        </section>
        <section class="card"><h2>Certificates and disk</h2>
        {{#certificates}}<div class="row"><div><span class="dot {{kind}}"></span><strong>{{subject}}</strong><br><span class="dim">valid until {{{until}}}</span></div></div>{{/certificates}}
        {{^certificates}}<p class="dim">No certificate is in use here.</p>{{/certificates}}
        {{#disk}}<p><span class="dot {{kind}}"></span>{{free}} free on the store’s disk. <span class="dim">{{text}}</span></p>{{/disk}}
        </section>
        </div>
        <section class="card"><h2>Latest messages</h2>
        {{#hasMessages}}<ul class="rows">{{#messages}}<li><div><a href="{{url}}"><strong>{{title}}</strong></a> <span class="tag {{stateKind}}">{{state}}</span><br><span class="dim">{{target}} · {{{time}}}</span></div><div class="narrow-bar">{{>progress}}<span class="dim">{{figures}}</span></div></li>{{/messages}}</ul>
        <p><a href="{{root}}/messages">All messages</a></p>{{/hasMessages}}
        {{^hasMessages}}<p class="dim">None yet.</p>{{/hasMessages}}
        </section>
        """
}
