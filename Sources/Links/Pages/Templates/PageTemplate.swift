/// The templates, one for each kind of page. They are complete documents: nothing is inherited or included.
enum PageTemplate: CaseIterable {
    case preview
    case social
    case debug
    case ipadCheck
    case message

    /// The source. `{{page.…}}` are stored properties of the page's type.
    var text: String {
        switch self {
        case .preview: Self.previewText
        case .social: Self.socialText
        case .debug: Self.debugText
        case .ipadCheck: Self.ipadCheckText
        case .message: Self.messageText
        }
    }

    /// A document: head, style, body, and a script at its end where there is one.
    static func document(title: String, head: String = "", body: String, script: String? = nil) -> String {
        """
        {{% CONTENT_TYPE: \(HTMLText.name) }}<!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(title)</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="referrer" content="no-referrer">
        <meta name="robots" content="noindex">
        \(head)
        <style nonce="{{nonce}}">
        \(style)
        </style>
        </head>
        <body>
        \(body)
        \(script.map { "<script nonce=\"{{nonce}}\">\n\($0)\n</script>" } ?? "")
        </body>
        </html>

        """
    }

    /// One style for all pages: legible on 360 pixels, light and dark as the reader has it.
    private static let style = """
        :root { color-scheme: light dark; --text: #1b1d21; --dim: #5b616b; --back: #f3f4f6; --card: #fff;
        --line: #d5d8dd; --accent: #1558c0; --on-accent: #fff }
        @media (prefers-color-scheme: dark) {
        :root { --text: #eceef1; --dim: #a8aeb8; --back: #121417; --card: #1d2025; --line: #3a3f47;
        --accent: #8ab4ff; --on-accent: #0b1220 }
        }
        * { box-sizing: border-box }
        [hidden] { display: none !important }
        body { margin: 0; padding: 16px; font: 16px/1.5 system-ui, sans-serif; color: var(--text);
        background: var(--back); overflow-wrap: anywhere }
        main { max-width: 480px; margin: 0 auto; padding: 20px; background: var(--card);
        border: 1px solid var(--line); border-radius: 12px }
        main.wide { max-width: 880px }
        h1 { margin: 0 0 8px; font-size: 22px; line-height: 1.25 }
        h2 { margin: 28px 0 8px; font-size: 18px }
        h3 { margin: 20px 0 4px; font-size: 16px }
        p { margin: 0 0 12px }
        img { display: block; width: 100%; max-height: 320px; margin: 0 0 16px; object-fit: cover; border-radius: 8px }
        a { color: var(--accent) }
        .dim { color: var(--dim); font-size: 14px }
        .save { display: flex; gap: 10px; align-items: flex-start; margin: 16px 0; min-height: 44px }
        .save input { flex: none; width: 22px; height: 22px; margin: 1px 0 0; accent-color: var(--accent) }
        .open { display: block; padding: 12px 16px; border-radius: 10px; background: var(--accent);
        color: var(--on-accent); font-weight: 600; text-align: center; text-decoration: none }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
        .copied { position: fixed; top: 0; left: -9999px; font-size: 16px }
        table { width: 100%; border-collapse: collapse }
        th, td { padding: 6px 8px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
        code { font: 14px/1.5 ui-monospace, monospace }
        ol.steps { margin: 0; padding: 0; list-style: none }
        ol.steps li { padding: 8px 12px; border: 1px solid var(--line); border-radius: 8px }
        ol.steps li + li::before { content: "↓"; display: block; margin: -8px 0 4px; color: var(--dim);
        text-align: center }
        ol.steps li.outcome { border-color: var(--accent); border-width: 2px }
        """

    private static let messageText = document(
        title: "{{page.title}}",
        body: """
            <main>
            <h1>{{page.title}}</h1>
            {{#page.reason}}<p dir="auto">{{.}}</p>{{/page.reason}}
            <p>{{page.advice}}</p>
            </main>
            """)
}
