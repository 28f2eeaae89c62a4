extension ConsoleTemplate {
    static let layoutText = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>{{title}}{{#project}} · {{project}}{{/project}} · Herald</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="{{base}}/assets/icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="{{style}}">
        <script type="module" src="{{script}}"></script>
        </head>
        <body{{^project}} class="plain"{{/project}}{{#live}} data-live="{{live}}"{{/live}}>
        <a class="skip" href="#main">Skip to the content</a>
        {{#project}}
        <header class="side">
        <div class="brand">
        <a class="name" href="{{root}}"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 10v4h3l6 4V6L7 10zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11"/></svg>Herald</a>
        <details class="menu-toggle"><summary>Menu</summary></details>
        </div>
        <nav aria-label="Main">
        <ul>
        {{#menu}}<li><a href="{{url}}"{{#current}} aria-current="page"{{/current}}><svg viewBox="0 0 20 20" aria-hidden="true"><path d="{{icon}}"/></svg>{{title}}</a></li>
        {{/menu}}
        </ul>
        </nav>
        <div class="side-foot">
        <p class="project"><span class="dim">Project</span> <strong>{{project}}</strong></p>
        {{#manyProjects}}<details class="switch"><summary>Change project</summary><ul>{{#projects}}<li><a href="{{url}}"{{#current}} aria-current="true"{{/current}}>{{name}}</a></li>{{/projects}}</ul></details>{{/manyProjects}}
        <p><a href="{{base}}/account">{{operator}}</a> <span class="dim">{{role}}</span></p>
        <form method="post" action="{{base}}/sign-out"><input type="hidden" name="_token" value="{{token}}"><button class="link">Sign out</button></form>
        </div>
        </header>
        {{/project}}
        <main id="main" tabindex="-1">
        {{$main}}{{/main}}
        <footer class="foot"><span>Shown at {{{now}}}</span>{{#live}}<span class="live-state" role="status" hidden></span>{{/live}}</footer>
        </main>
        </body>
        </html>

        """

    static let messageText = page(
        """
        <div class="narrow card center">
        <h1>{{heading}}</h1>
        <p>{{text}}</p>
        <p><a class="button" href="{{base}}">Go to the overview</a></p>
        </div>
        """)

    static let signInText = page(
        """
        <div class="narrow card">
        <p class="logo"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 10v4h3l6 4V6L7 10zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11"/></svg></p>
        <h1>Sign in to Herald</h1>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#provider}}
        {{#isSignedOut}}<p class="note" role="status">You are signed out.{{#signOut}} Your session at {{name}} may go on: <a href="{{signOut}}">sign out of {{name}} too</a>.{{/signOut}}</p>{{/isSignedOut}}
        <p class="stack"><a class="button primary" href="{{url}}">Sign in with {{name}}</a></p>
        <h2>Or by a password</h2>
        {{/provider}}
        <form method="post" action="{{base}}/sign-in" class="stack">
        <input type="hidden" name="_token" value="{{token}}">
        <input type="hidden" name="back" value="{{back}}">
        <label>Name<input name="name" value="{{name}}" autocomplete="username" required{{^provider}} autofocus{{/provider}}></label>
        <label>Password<input type="password" name="password" autocomplete="current-password" required></label>
        <label>One-time code <span class="dim">if you use them</span><input name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*"></label>
        <button class="primary">Sign in</button>
        </form>
        <p class="dim">No password yet? On the gateway’s machine, <code>herald operator link NAME</code> prints a link that signs you in once.</p>
        </div>
        """)

    static let signInLinkText = page(
        """
        <div class="narrow card center">
        <h1>Sign in to Herald</h1>
        <p>This link signs you in once, in this browser. If you did not ask for it, close this page.</p>
        {{#isSignedIn}}<p class="note warn">You are signed in as <strong>{{current}}</strong>; the link may be of another operator.</p>{{/isSignedIn}}
        <form method="post">\(token)<button class="primary" autofocus>Sign in</button></form>
        </div>
        """)

    static let proveText = page(
        """
        <div class="narrow card">
        <h1>Confirm that it is you</h1>
        <p>What you are about to do is hard to undo. A proof counts for ten minutes.</p>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#hasPassword}}
        <form method="post" action="{{base}}/prove" class="stack">
        <input type="hidden" name="_token" value="{{token}}">
        <input type="hidden" name="back" value="{{back}}">
        <label>Password<input type="password" name="password" autocomplete="current-password" required autofocus></label>
        {{#hasCode}}<label>One-time code<input name="code" inputmode="numeric" autocomplete="one-time-code" required></label>{{/hasCode}}
        <button class="primary">Confirm</button>
        </form>
        {{/hasPassword}}
        {{#provider}}<p class="stack"><a class="button{{^hasPassword}} primary{{/hasPassword}}" href="{{url}}">Confirm with {{name}}</a></p>{{/provider}}
        {{^hasPassword}}{{^provider}}
        <p>You have no password: signing in by a new link is the proof. On the gateway’s machine:</p>
        <pre><code>herald operator link {{operator}}</code></pre>
        <p>Then set a password in <a href="{{base}}/account">your account</a>.</p>
        {{/provider}}{{/hasPassword}}
        <p><a href="{{back}}">Back</a></p>
        </div>
        """)

    static let accountText = page(
        """
        <div class="page">
        <p class="crumbs"><a href="{{base}}">Overview</a></p>
        <h1>Your account</h1>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        {{#done}}<p class="note good" role="status">{{done}}</p>{{/done}}
        <div class="grid two">
        <section class="card"><h2>Roles</h2>
        <table><thead><tr><th scope="col">Project</th><th scope="col">Role</th></tr></thead><tbody>{{#roles}}<tr><td><a href="{{base}}/p/{{project}}">{{project}}</a></td><td>{{role}}</td></tr>{{/roles}}</tbody></table>
        </section>
        <section class="card"><h2>Password</h2>
        <p>{{#hasPassword}}You have a password. A new one ends your other sessions.{{/hasPassword}}{{^hasPassword}}You have none yet: you sign in by links. With a password you can sign in at any time.{{/hasPassword}}</p>
        <form method="post" action="{{base}}/account/password" class="stack">\(token)
        <label>New password <span class="dim">{{shortest}} characters or more</span><input type="password" name="password" autocomplete="new-password" minlength="{{shortest}}" required></label>
        <button class="primary">Set password</button></form>
        </section>
        <section class="card"><h2>One-time codes</h2>
        {{#hasCodes}}<p>Your authenticator app’s codes are asked for beside the password.</p>
        <form method="post" action="{{base}}/account/no-codes">\(token)<button>Stop asking for codes</button></form>{{/hasCodes}}
        {{^hasCodes}}<p>Scan this with an authenticator app, then type the code that it shows.</p>
        <div class="qr">{{{qr}}}</div><p class="dim">Or type the key: <code class="wrap">{{key}}</code></p>
        <form method="post" action="{{base}}/account/codes" class="stack">\(token)<input type="hidden" name="key" value="{{key}}">
        <label>Code<input name="code" inputmode="numeric" autocomplete="one-time-code" required></label><button class="primary">Turn on</button></form>{{/hasCodes}}
        </section>
        <section class="card"><h2>Sessions</h2>
        <ul class="rows">{{#sessions}}<li><div><strong>{{address}}</strong> {{#current}}<span class="tag good">this one</span>{{/current}}<br><span class="dim clip">{{browser}}</span><br><span class="dim">used {{{used}}}, began {{{created}}}</span></div>
        <form method="post" action="{{base}}/account/sessions">\(token)<input type="hidden" name="id" value="{{id}}"><button>End</button></form></li>{{/sessions}}</ul>
        </section>
        </div>
        </div>
        """)

    static let pagerText = """
        {{#next}}<p class="pager"><a class="button" href="{{next}}" rel="next">{{^nextTitle}}Show older{{/nextTitle}}{{nextTitle}}</a></p>{{/next}}
        """

    static let progressText = """
        <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{{barLabel}}">{{#parts}}<rect class="c-{{kind}}" x="{{x}}" y="0" width="{{width}}" height="8"/>{{/parts}}</svg>
        """
}
