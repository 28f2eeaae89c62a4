extension ConsoleTemplate {
    static let linksText = page(
        """
        <div class="head"><h1>Links</h1>{{#hasPrefix}}<a class="button" href="{{root}}/links/referral">Referral</a>{{/hasPrefix}}{{#maySend}}{{#hasPrefix}}<a class="button primary" href="{{root}}/links/new">Make a link</a>{{/hasPrefix}}{{/maySend}}</div>
        {{^hasPrefix}}<section class="card empty"><h2>This project has no links</h2><p>Add <code>links.prefixes</code> to its project file: a host of yours, such as <code>https://go.example.com</code>. Short links then open the app where it is installed, and a store or page elsewhere.</p></section>{{/hasPrefix}}
        {{#hasRows}}<div class="table card"><table class="cards"><thead><tr><th scope="col">Link</th><th scope="col">Name</th><th scope="col">Leads to</th><th scope="col">Made</th><th scope="col">State</th></tr></thead><tbody>
        {{#rows}}<tr><td data-label="Link"><a href="{{url}}"><strong>{{short}}</strong></a></td><td data-label="Name">{{name}}</td><td data-label="Leads to" class="wrap">{{target}}</td><td data-label="Made">{{{made}}}</td><td data-label="State"><span class="tag {{kind}}">{{state}}</span></td></tr>{{/rows}}
        </tbody></table></div>{{/hasRows}}
        {{#hasPrefix}}{{^hasRows}}<section class="card empty"><h2>No link yet</h2><p>Make one with a form, or with the API: <code>POST /v1/shortLinks</code>.</p></section>{{/hasRows}}{{/hasPrefix}}
        {{>pager}}
        """)

    static let linkNewText = page(
        """
        <p class="crumbs"><a href="{{root}}/links">Links</a></p>
        <div class="head"><h1>Make a link</h1></div>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        <form method="post" action="{{root}}/links" class="split">\(token)
        <div>
        <fieldset class="card"><legend>Link</legend>
        <label>Prefix<select name="prefix">{{#prefixes}}<option value="{{url}}"{{#selected}} selected{{/selected}}>{{url}}</option>{{/prefixes}}</select></label>
        <label>Leads to<input type="url" name="link" value="{{f.link}}" placeholder="https://www.example.com/page" required></label>
        <label>Name <span class="dim">for your lists</span><input name="name" value="{{f.name}}" required></label>
        <label>Suffix <span class="dim">empty: a short one is chosen</span><input name="suffix" value="{{f.suffix}}" pattern="[A-Za-z0-9_\\-]*"></label>
        </fieldset>
        <fieldset class="card"><legend>Apps</legend>
        <div class="fields"><label>iOS bundle id<input name="ios" value="{{f.ios}}" list="ios"></label>
        <label>App Store id<input name="store" value="{{f.store}}" inputmode="numeric"></label>
        <label>Android package<input name="android" value="{{f.android}}" list="android"></label>
        <label>Desktop page <span class="dim">instead of the link</span><input type="url" name="desktop" value="{{f.desktop}}"></label></div>
        <datalist id="ios">{{#iosApps}}<option value="{{.}}"></option>{{/iosApps}}</datalist><datalist id="android">{{#androidApps}}<option value="{{.}}"></option>{{/androidApps}}</datalist>
        </fieldset>
        <fieldset class="card"><legend>When it is shared</legend>
        <label>Title<input name="title" value="{{f.title}}" data-field="title"></label>
        <label>Description<input name="description" value="{{f.description}}" data-field="body"></label>
        <label>Image<input type="url" name="image" value="{{f.image}}"></label>
        </fieldset>
        <div class="actions"><button class="primary">Make link</button><button formaction="{{root}}/links/preview">Preview</button></div>
        </div>
        <aside><section class="card"><h2>Preview</h2><div class="social"><div class="social-image" aria-hidden="true"></div><p class="push-title" data-show="title">{{f.title}}</p><p data-show="body">{{f.description}}</p></div>
        <h3>Where it opens</h3>{{#outcomes}}{{>linkOutcomes}}{{/outcomes}}{{^outcomes}}<p class="dim">“Preview” says where it opens on each platform, and makes nothing.</p>{{/outcomes}}</section></aside>
        </form>
        """)

    static let linkText = page(
        """
        <p class="crumbs"><a href="{{root}}/links">Links</a></p>
        <div class="head"><h1>{{short}}</h1><a class="button" href="{{short}}?d=1" rel="noreferrer">Explain</a></div>
        {{#notice}}<p class="note good" role="status">{{notice}}</p>{{/notice}}
        <div class="split"><div>
        <section class="tiles">{{#tiles}}<div class="tile"><p class="label">{{label}}</p><p class="figure">{{value}}</p><p class="dim">last 30 days</p></div>{{/tiles}}</section>
        <section class="card"><h2>By platform <span class="dim">last 30 days</span></h2>
        {{#hasStats}}<div class="table"><table class="cards"><thead><tr><th scope="col">Event</th><th scope="col">Platform</th><th scope="col" class="num">Count</th></tr></thead><tbody>{{#stats}}<tr><td data-label="Event">{{event}}</td><td data-label="Platform">{{platform}}</td><td data-label="Count" class="num">{{count}}</td></tr>{{/stats}}</tbody></table></div>{{/hasStats}}
        {{^hasStats}}<p class="dim">It was not opened yet.</p>{{/hasStats}}</section>
        <section class="card"><h2>Where it opens</h2>{{#problem}}<p class="note bad">Visitors are told that it can’t be opened: {{problem}}</p>{{/problem}}{{#outcomes}}{{>linkOutcomes}}
        <h3>When it is shared</h3><div class="social"><p class="push-title">{{socialTitle}}</p><p>{{socialDescription}}</p><p class="dim">{{host}}{{#hasPicture}} · with a picture{{/hasPicture}}</p></div>{{/outcomes}}</section>
        <section class="card"><h2>What it says</h2><dl>{{#facts}}<dt>{{name}}</dt><dd class="wrap">{{text}}</dd>{{/facts}}</dl></section>
        </div><aside><section class="card"><h2>QR code</h2><img class="qr" src="{{qr}}" alt="QR code of {{short}}" width="220" height="220"><p><a class="button" href="{{qr}}" download="link.svg">SVG</a></p></section>
        {{#mayOperate}}<section class="card"><h2>State <span class="tag {{kind}}">{{state}}</span></h2><div class="actions">
        <form method="post" action="{{self}}">\(token)<input type="hidden" name="short" value="{{short}}">{{#isBlocked}}<button name="act" value="unblock">Unblock</button>{{/isBlocked}}{{^isBlocked}}<button name="act" value="block">Block</button>{{/isBlocked}}</form>
        <details class="confirm"><summary class="button danger">Delete</summary><form method="post" action="{{self}}">\(token)<input type="hidden" name="short" value="{{short}}"><p>It leads nowhere any more; its suffix is not given again.</p><button class="danger" name="act" value="delete">Delete this link</button></form></details>
        </div></section>{{/mayOperate}}</aside></div>
        """)

    static let linkOutcomesText = """
        <dl>{{#platforms}}<dt>{{platform}}</dt><dd class="wrap">{{#app}}the app <strong>{{app}}</strong>, where it is installed{{#isPreviewed}}, after a page that asks{{/isPreviewed}}; otherwise {{/app}}<code>{{otherwise}}</code></dd>{{/platforms}}</dl>
        """

    static let referralText = page(
        """
        <p class="crumbs"><a href="{{root}}/links">Links</a></p>
        <div class="head"><h1>Referral</h1></div>
        <form method="get" action="{{root}}/links/referral" class="filter card" role="search"><label class="grow">Inviter <span class="dim">user id</span><input name="inviter" value="{{inviter}}"></label><label class="grow">Campaign<input name="campaign" value="{{campaign}}"></label><div class="actions"><button class="primary">Find</button>{{#isFiltered}}<a class="button" href="{{root}}/links/referral">Clear</a>{{/isFiltered}}</div></form>
        {{#campaigns}}<section class="card"><h2>Campaign {{campaign}} <span class="dim">shares are of the clicks</span></h2>
        <div class="table"><table class="cards"><thead><tr><th scope="col">Step</th><th scope="col">Share</th><th scope="col" class="num">Count</th><th scope="col" class="num">Of clicks</th></tr></thead><tbody>
        {{#parts}}<tr><td data-label="Step">{{title}}</td><td data-label="Share" class="bar-cell">{{>progress}}</td><td data-label="Count" class="num">{{count}}</td><td data-label="Of clicks" class="num">{{share}}</td></tr>{{/parts}}
        </tbody></table></div></section>{{/campaigns}}
        {{#hasRows}}<section class="card"><h2>By invitation</h2><div class="table"><table class="cards"><thead><tr><th scope="col">Inviter</th><th scope="col">Campaign</th>{{#heads}}<th scope="col" class="num">{{.}}</th>{{/heads}}</tr></thead><tbody>
        {{#rows}}<tr><td data-label="Inviter" class="wrap"><a href="{{root}}/users?user={{inviterEncoded}}">{{inviter}}</a></td><td data-label="Campaign">{{campaign}}</td>{{#counts}}<td data-label="{{title}}" class="num">{{count}}</td>{{/counts}}</tr>
        {{/rows}}</tbody></table></div>{{#isCut}}<p class="dim">The first {{limit}}. Filter for the others.</p>{{/isCut}}</section>{{/hasRows}}
        {{^hasRows}}<section class="card empty"><h2>No invitation found</h2><p>Backends make an invitation for a user with the referral API: <code>POST /v1/projects/{{project}}/referral/invitations</code>. How far its referrals came is shown here.</p></section>{{/hasRows}}
        """)
}
