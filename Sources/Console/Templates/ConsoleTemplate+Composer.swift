extension ConsoleTemplate {
    static let composeText = page(
        """
        <div class="head"><h1>Compose</h1>
        {{#hasDrafts}}<details class="switch"><summary class="button">Drafts</summary><ul>{{#drafts}}<li><a href="{{url}}">{{title}}</a> <span class="dim">{{{time}}}</span></li>{{/drafts}}<li><a href="{{root}}/compose?new=1">Begin anew</a></li></ul></details>{{/hasDrafts}}</div>
        {{#notice}}<p class="note good" role="status">{{notice}}</p>{{/notice}}
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        <form method="post" action="{{root}}/compose" class="composer" data-composer="{{root}}/compose/check">
        <input type="hidden" name="_token" value="{{token}}">
        <input type="hidden" name="draft" value="{{draft}}">
        <button name="act" value="save" class="hidden" tabindex="-1" aria-hidden="true" formnovalidate></button>
        <div class="split">
        <div>
        <fieldset class="card"><legend>Who</legend>
        <div class="pair"><label>Send to<select name="kind" data-kind>{{#kinds}}<option value="{{value}}"{{#selected}} selected{{/selected}}>{{title}}</option>{{/kinds}}</select></label>
        <label class="grow">Device, topic, condition or user<input name="target" value="{{f.target}}" list="targets" autocomplete="off" required aria-describedby="target-note"></label></div>
        <datalist id="targets">{{#topics}}<option value="{{.}}"></option>{{/topics}}</datalist>
        <p id="target-note" class="dim">A token or FID, a topic’s name, a condition like <code>'news' in topics &amp;&amp; !('muted' in topics)</code>, or a user’s id.</p>
        </fieldset>
        <fieldset class="card"><legend>What</legend>
        <label>Title<input name="title" value="{{f.title}}" data-field="title" maxlength="1000"></label>
        <label>Body<textarea name="body" rows="3" data-field="body">{{f.body}}</textarea></label>
        <label>Image<input type="url" name="image" value="{{f.image}}" placeholder="https://…"></label>
        <label>Link<input name="link" value="{{f.link}}" placeholder="https://… opened by a tap"></label>
        <label>Data<textarea name="data" rows="2" spellcheck="false" placeholder="key=value, one a line">{{f.data}}</textarea></label>
        <div class="fields">
        <label>Badge<input name="badge" value="{{f.badge}}" inputmode="numeric" placeholder="0 clears it"></label>
        <label>Sound<input name="sound" value="{{f.sound}}" placeholder="default"></label>
        <label>Category<input name="category" value="{{f.category}}"></label>
        <label>Label<input name="label" value="{{f.label}}" maxlength="50" placeholder="for reports"></label>
        <label>Expiry<select name="expiry">{{#expiries}}<option value="{{value}}"{{#selected}} selected{{/selected}}>{{title}}</option>{{/expiries}}</select></label>
        <label>Pace<select name="pace">{{#paces}}<option value="{{value}}"{{#selected}} selected{{/selected}}>{{title}}</option>{{/paces}}</select></label>
        </div>
        </fieldset>
        <fieldset class="card"><legend>Send</legend>
        <label>Test device<input name="test" value="{{f.test}}" placeholder="token or FID; kept with your drafts" list="tests" autocomplete="off"></label>
        <datalist id="tests">{{#tests}}<option value="{{.}}"></option>{{/tests}}</datalist>
        <div class="actions"><button name="act" value="test" formnovalidate>Send test</button><button name="act" value="review" class="primary">Review</button><button name="act" value="send">Send</button><button name="act" value="save" class="link" formnovalidate>Save draft</button></div>
        <p class="dim" data-saved role="status">{{savedText}}</p>
        </fieldset>
        </div>
        <aside>
        {{>phone}}
        <div data-check aria-live="polite">{{>composeCheck}}</div>
        </aside>
        </div>
        </form>
        """)

    static let composeCheckText = """
        {{#hasProblems}}<section class="card note bad"><h2>Not right yet</h2><ul>{{#problems}}<li><strong>{{field}}</strong> {{text}}</li>{{/problems}}</ul></section>{{/hasProblems}}
        <section class="card"><h2>Payload</h2>
        {{#audience}}<p><strong>{{audience}}</strong></p>{{/audience}}
        {{#sizes}}<div class="size"><div>{{title}} <span class="num {{kind}}">{{bytes}} of 4,096 bytes</span></div>{{>progress}}{{#payload}}<details><summary>Show</summary><pre><code>{{payload}}</code></pre></details>{{/payload}}</div>{{/sizes}}
        {{^hasSizes}}<p class="dim">Appears when the message says something.</p>{{/hasSizes}}
        {{#warnings}}<p class="note warn">{{.}}</p>{{/warnings}}
        </section>
        <section class="card"><h2>The same call</h2>
        <div class="copy"><div class="head"><h3>JSON</h3><button type="button" class="link" data-copy="json" hidden>Copy</button></div><pre tabindex="0" data-copy-source="json"><code>{{json}}</code></pre></div>
        <div class="copy"><div class="head"><h3>curl</h3><button type="button" class="link" data-copy="curl" hidden>Copy</button></div><pre tabindex="0" data-copy-source="curl"><code>{{curl}}</code></pre></div>
        </section>
        """

    static let reviewText = page(
        """
        <p class="crumbs"><a href="{{root}}/compose?draft={{draft}}">Compose</a></p>
        <div class="head"><h1>Review</h1></div>
        {{#error}}<p class="note bad" role="alert">{{error}}</p>{{/error}}
        <div class="split">
        <div>
        <section class="card"><h2>{{target}}</h2>
        <section class="tiles"><div class="tile"><p class="label">Audience</p><p class="figure">{{audienceFigure}}</p><p class="dim">{{audienceText}}</p></div>
        <div class="tile"><p class="label">Expected duration</p><p class="figure">{{duration}}</p><p class="dim">{{durationText}}</p></div></section>
        {{#warnings}}<p class="note warn">{{.}}</p>{{/warnings}}
        {{^hasWarnings}}<p class="note good">No warnings: the message fits every platform that it goes to.</p>{{/hasWarnings}}
        <form method="post" action="{{root}}/compose/send" class="stack">\(token)<input type="hidden" name="draft" value="{{draft}}"><input type="hidden" name="reviewed" value="{{reviewed}}"><input type="hidden" name="_back" value="{{root}}/compose/review?draft={{draft}}">
        {{#isMass}}<label>More than 1,000 recipients: type the number <strong>{{count}}</strong> to confirm<input name="count" inputmode="numeric" autocomplete="off" required></label>
        {{^isProven}}<p class="note warn">Before it is sent you will be asked who you are.</p>{{/isProven}}{{/isMass}}
        <div class="actions"><button class="primary">Send</button><a class="button" href="{{root}}/compose?draft={{draft}}">Back to the composer</a></div>
        </form></section>
        </div>
        <aside>{{>phone}}{{>composeCheck}}</aside>
        </div>
        """)
}
