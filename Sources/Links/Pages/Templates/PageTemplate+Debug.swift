extension PageTemplate {
    static let debugText = document(
        title: "How this link is read",
        body: """
            <main class="wide">
            <h1>How this link is read</h1>
            <p>Opening this page is not counted as a click, and it redirects to nothing.</p>
            {{#page.shortLink}}<p>Short link: <code>{{.}}</code></p>{{/page.shortLink}}
            <p>Long link: <code>{{page.longLink}}</code></p>
            <h2 id="parameters">Parameters</h2>
            <table aria-labelledby="parameters">
            <thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead>
            <tbody>
            {{#page.parameters}}<tr><th scope="row"><code>{{name}}</code>{{#meaning}}
            <span class="dim">{{.}}</span>{{/meaning}}</th><td dir="auto">{{value}}</td></tr>
            {{/page.parameters}}
            </tbody>
            </table>
            <h2 id="warnings">Warnings</h2>
            {{#page.hasWarnings}}<ul aria-labelledby="warnings">
            {{#page.warnings}}<li><code>{{code}}</code> {{message}}</li>
            {{/page.warnings}}
            </ul>{{/page.hasWarnings}}
            {{^page.hasWarnings}}<p>None.</p>{{/page.hasWarnings}}
            <h2>What each platform gets</h2>
            {{#page.branches}}<section aria-label="{{platform}}">
            <h3>{{platform}}</h3>
            <ol class="steps">
            {{#steps}}<li>{{question}} <strong>{{answer}}</strong></li>
            {{/steps}}
            <li class="outcome">{{outcome}}{{#target}}
            <code>{{.}}</code>{{/target}}</li>
            </ol>
            </section>
            {{/page.branches}}
            </main>
            """)
}
