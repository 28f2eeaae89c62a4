extension ConsoleTemplate {
    static let accessText = page(
        """
        <div class="head"><h1>Access</h1><a class="button" href="{{root}}/settings">Settings</a>{{#mayAdmin}}<a class="button" href="{{root}}/audit">Audit log</a>{{/mayAdmin}}</div>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#secret}}<section class="card note good" role="status"><h2>{{title}}</h2><p>It is shown only now. Keep it where your backends keep secrets.</p><pre tabindex="0"><code class="wrap">{{value}}</code></pre></section>{{/secret}}
        <section class="card"><h2>Operators <span class="dim">people who sign in here</span></h2>
        <div class="table"><table class="cards"><thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Signs in by</th><th scope="col">Made</th>{{#mayAdmin}}<th scope="col">Change</th>{{/mayAdmin}}</tr></thead><tbody>
        {{#operators}}<tr><td data-label="Name"><strong>{{name}}</strong></td><td data-label="Role">{{operatorRole}}</td><td data-label="Signs in by">{{means}}</td><td data-label="Made">{{{made}}}</td>{{#mayAdmin}}<td data-label="Change"><div class="actions"><form method="post" action="{{root}}/access/link">\(token)<input type="hidden" name="_back" value="{{root}}/access"><input type="hidden" name="name" value="{{name}}"><button>Sign-in link</button></form>{{^isSelf}}<form method="post" action="{{root}}/access/revoke">\(token)<input type="hidden" name="_back" value="{{root}}/access"><input type="hidden" name="name" value="{{name}}"><button class="danger">Revoke</button></form>{{/isSelf}}</div></td>{{/mayAdmin}}</tr>{{/operators}}
        </tbody></table></div>
        {{#moreOperators}}<p class="dim">And {{moreOperators}}: <code>herald operator list --project {{project}}</code></p>{{/moreOperators}}
        {{#mayAdmin}}<form method="post" action="{{root}}/access/operator" class="filter">\(token)<input type="hidden" name="_back" value="{{root}}/access"><label class="grow">Name<input name="name" required pattern="[A-Za-z0-9._@\\-]{1,64}"></label><label>Role<select name="role"><option>viewer</option><option>sender</option><option>operator</option><option>admin</option></select></label><div class="actions"><button class="primary">Add or change operator</button></div></form>{{/mayAdmin}}
        </section>
        <section class="card"><h2>API keys</h2>
        {{#hasKeys}}<div class="table"><table class="cards"><thead><tr><th scope="col">Id</th><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Last used</th><th scope="col">Ends</th><th scope="col">State</th></tr></thead><tbody>
        {{#keys}}<tr><td data-label="Id"><code>{{id}}</code></td><td data-label="Name">{{name}}</td><td data-label="Role">{{keyRole}}</td><td data-label="Last used">{{#used}}{{{used}}}{{/used}}{{^used}}–{{/used}}</td><td data-label="Ends">{{#ends}}{{{ends}}}{{/ends}}{{^ends}}–{{/ends}}</td><td data-label="State">{{#isLive}}<span class="tag good">works</span>{{#mayAdmin}} <form method="post" action="{{root}}/access/revoke-key" class="inline">\(token)<input type="hidden" name="_back" value="{{root}}/access"><input type="hidden" name="id" value="{{id}}"><button class="danger">Revoke<span class="hidden"> {{id}}</span></button></form>{{/mayAdmin}}{{/isLive}}{{^isLive}}<span class="tag">{{ended}}</span>{{/isLive}}</td></tr>{{/keys}}
        </tbody></table></div>{{/hasKeys}}{{^hasKeys}}<p class="dim">No key yet. Backends send with a key of the role sender; apps register with one of the role client.</p>{{/hasKeys}}
        {{#mayAdmin}}<form method="post" action="{{root}}/access/key" class="filter">\(token)<input type="hidden" name="_back" value="{{root}}/access"><label class="grow">Name<input name="name" maxlength="100"></label><label>Role<select name="role"><option>sender</option><option>client</option><option>admin</option></select></label><label>Ends in days <span class="dim">empty: never</span><input type="number" name="days" min="1" max="3650"></label><div class="actions"><button class="primary">Make key</button></div></form>{{/mayAdmin}}
        </section>
        <section class="card"><h2>Service accounts</h2>
        {{#hasAccounts}}<div class="table"><table class="cards"><thead><tr><th scope="col">Account</th><th scope="col">Role</th><th scope="col">Keys</th><th scope="col">State</th></tr></thead><tbody>
        {{#accounts}}<tr><td data-label="Account">{{email}}</td><td data-label="Role">{{accountRole}}</td><td data-label="Keys">{{keys}}</td><td data-label="State"><span class="tag {{kind}}">{{state}}</span>{{#mayAdmin}} <form method="post" action="{{root}}/access/account" class="inline">\(token)<input type="hidden" name="_back" value="{{root}}/access"><input type="hidden" name="email" value="{{email}}">{{#isDisabled}}<button name="act" value="enable">Enable</button>{{/isDisabled}}{{^isDisabled}}<button class="danger" name="act" value="disable">Disable</button>{{/isDisabled}}</form>{{/mayAdmin}}</td></tr>{{/accounts}}
        </tbody></table></div>{{/hasAccounts}}{{^hasAccounts}}<p class="dim">None. Make one for the Firebase Admin SDKs on the gateway’s machine: <code>herald service-account create</code></p>{{/hasAccounts}}
        </section>
        """)

    static let auditText = page(
        """
        <p class="crumbs"><a href="{{root}}/access">Access</a></p>
        <div class="head"><h1>Audit log</h1></div>
        <form method="get" action="{{root}}/audit" class="filter card" role="search"><label>Action<select name="action"><option value="">All</option>{{#actions}}<option{{#selected}} selected{{/selected}}>{{value}}</option>{{/actions}}</select></label><label class="grow">Subject<input name="subject" value="{{subject}}"></label><div class="actions"><button class="primary">Find</button></div></form>
        {{#hasRows}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Time</th><th scope="col">Action</th><th scope="col">Subject</th><th scope="col">Details</th><th scope="col">By</th><th scope="col">From</th></tr></thead><tbody>
        {{#rows}}<tr><td data-label="Time">{{{time}}}</td><td data-label="Action">{{action}}</td><td data-label="Subject" class="wrap">{{subject}}</td><td data-label="Details" class="wrap">{{details}}</td><td data-label="By">{{by}}</td><td data-label="From">{{from}}</td></tr>{{/rows}}
        </tbody></table></div>{{/hasRows}}{{^hasRows}}<section class="card empty"><h2>Nothing here</h2><p>What operators, keys and commands change is listed here for a year.</p></section>{{/hasRows}}
        {{>pager}}
        """)
}
