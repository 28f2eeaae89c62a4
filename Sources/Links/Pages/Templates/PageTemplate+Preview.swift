extension PageTemplate {
    static let previewText = document(
        title: "{{page.heading}}",
        body: """
            <main>
            {{#page.imageURL}}<img src="{{.}}" alt="" referrerpolicy="no-referrer">{{/page.imageURL}}
            <h1 dir="auto">{{page.heading}}</h1>
            {{#page.description}}<p dir="auto">{{.}}</p>{{/page.description}}
            <p class="dim">{{#page.appName}}Opens in <bdi>{{.}}</bdi> · {{/page.appName}}<span>{{page.host}}</span></p>
            {{#page.clipboardText}}<label class="save" id="save" hidden><input type="checkbox" id="saved" checked>
            <span>Save my place in the app. A link will be copied so that the app can continue here.</span></label>
            {{/page.clipboardText}}
            <a class="open" id="open" href="{{page.openURL}}"
            data-copied="{{page.clipboardText}}" data-report="{{page.reportPath}}">Open</a>
            </main>
            """,
        script: previewScript)

    /// Without it the button is a plain link. With it the click copies first and then goes on as the link that it is:
    /// iOS opens apps only by links that people tap.
    private static let previewScript = """
        (() => {
        const open = document.getElementById('open');
        const label = document.getElementById('save');
        const box = document.getElementById('saved');
        if (label) label.hidden = false;
        // While the click lasts: what is asked of navigator.clipboard may come too late when an app takes over. As a URL
        // too, because the SDK first asks whether there is one.
        function copy(text) {
        const field = document.createElement('textarea');
        field.className = 'copied';
        field.value = text;
        field.readOnly = true;
        document.body.append(field);
        field.select();
        field.setSelectionRange(0, text.length);
        let isCopied = false;
        const write = event => {
        event.clipboardData.setData('text/plain', text);
        event.clipboardData.setData('text/uri-list', text);
        event.preventDefault();
        isCopied = true;
        };
        document.addEventListener('copy', write);
        try {
        isCopied = document.execCommand('copy') && isCopied;
        } catch {
        isCopied = false;
        }
        document.removeEventListener('copy', write);
        field.remove();
        return isCopied;
        }
        function timeZone() {
        try {
        return Intl.DateTimeFormat().resolvedOptions().timeZone || '';
        } catch {
        return '';
        }
        }
        function report(isSaved) {
        if (!open.dataset.report || !navigator.sendBeacon) return;
        navigator.sendBeacon(open.dataset.report, new URLSearchParams({
        width: screen.width, height: screen.height, language: navigator.language || '', timeZone: timeZone(),
        saved: isSaved ? '1' : '0'
        }));
        }
        open.addEventListener('click', event => {
        const text = open.dataset.copied;
        const isSaved = Boolean(text && box && box.checked);
        report(isSaved);
        if (!isSaved || copy(text) || !navigator.clipboard) return;
        event.preventDefault();
        const go = () => location.assign(open.href);
        navigator.clipboard.writeText(text).then(go, go);
        });
        })();
        """
}
