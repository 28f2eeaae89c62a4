/// The one style sheet of the console: light and dark as the reader has it, from 360 pixels to wide, and on paper.
enum StyleSheet {
    static let text = """
        :root { color-scheme: light dark; --text: #171a21; --dim: #565e6c; --back: #f4f5f8; --card: #fff; --side: #fff;
        --line: #dfe3ea; --soft: #eceff5; --accent: #4338ca; --accent-soft: #eceafc; --on-accent: #fff; --good: #12714a;
        --good-soft: #e0f4ea; --warn: #855300; --warn-soft: #fdf1d9; --bad: #b42318; --bad-soft: #fde8e6; --info: #1d5fa8;
        --info-soft: #e3effb; --c-accepted: #4f46e5; --c-rejected: #dc3a2e; --c-expired: #d98a06; --c-cancelled: #98a1b0;
        --c-flight: #58b4e8; --c-funnel: #4f46e5; --radius: 12px; --shadow: 0 1px 2px rgb(16 24 40 / .06) }
        @media (prefers-color-scheme: dark) { :root { --text: #e9ebf1; --dim: #a3abbb; --back: #0e1015; --card: #171a21;
        --side: #13161c; --line: #2b303b; --soft: #212631; --accent: #a5a1ff; --accent-soft: #26244b; --on-accent: #14122e;
        --good: #66d6a2; --good-soft: #12301f; --warn: #f0bb58; --warn-soft: #35280c; --bad: #ff9288; --bad-soft: #3b1814;
        --info: #86bdf6; --info-soft: #14273d; --c-accepted: #8b85ff; --c-rejected: #f1695e; --c-expired: #e6a636;
        --c-cancelled: #7b8494; --c-flight: #4aa3d6; --c-funnel: #8b85ff; --shadow: none } }
        * { box-sizing: border-box }
        [hidden] { display: none !important }
        html { -webkit-text-size-adjust: 100% }
        body { margin: 0; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--text);
        background: var(--back); overflow-wrap: break-word }
        h1 { margin: 0; font-size: 24px; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere }
        h2 { margin: 0 0 12px; font-size: 16px; line-height: 1.35 }
        h3 { margin: 20px 0 8px; font-size: 14px }
        h2 + h2, p + h2, ul + h2 { margin-top: 24px }
        p { margin: 0 0 10px }
        a { color: var(--accent); text-underline-offset: 2px }
        code, pre { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
        pre { margin: 0 0 10px; padding: 12px; overflow: auto; max-height: 360px; background: var(--soft);
        border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere }
        .dim { color: var(--dim); font-weight: 400 }
        .good { color: var(--good) } .warn { color: var(--warn) } .bad { color: var(--bad) }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
        .wrap { overflow-wrap: anywhere }
        .clip { display: inline-block; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
        vertical-align: bottom }
        .num { text-align: right; font-variant-numeric: tabular-nums }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px }
        main:focus { outline: none }
        .skip { position: absolute; left: -9999px; top: 8px; z-index: 9; padding: 8px 14px; background: var(--card);
        border-radius: 8px }
        .skip:focus { left: 8px }
        /* Around every page */
        .side { display: flex; flex-direction: column; gap: 12px; padding: 14px 16px; background: var(--side);
        border-bottom: 1px solid var(--line) }
        .brand { display: flex; align-items: center; justify-content: space-between }
        .brand .name { display: flex; align-items: center; gap: 10px; color: var(--text); font-weight: 700; font-size: 17px;
        text-decoration: none }
        .brand svg, .logo svg { width: 30px; height: 30px; padding: 5px; border-radius: 9px; background: #4338ca; fill: none;
        stroke: #fff; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round }
        .logo { text-align: center } .logo svg { width: 46px; height: 46px; padding: 8px; border-radius: 13px }
        .side nav ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 2px }
        .side nav a { display: flex; align-items: center; gap: 11px; padding: 8px 10px; border-radius: 8px;
        color: var(--text); text-decoration: none; font-weight: 500 }
        .side nav a:hover { background: var(--soft) }
        .side nav a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600 }
        .side nav svg { flex: none; width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.6;
        stroke-linecap: round; stroke-linejoin: round }
        .side-foot { font-size: 13px; display: grid; gap: 6px } .side-foot p { margin: 0 }
        .menu-toggle summary { cursor: pointer; padding: 6px 12px; border: 1px solid var(--line); border-radius: 8px;
        font-weight: 600; list-style: none }
        .side .brand:not(:has([open])) ~ nav, .side .brand:not(:has([open])) ~ .side-foot { display: none }
        main { display: block; padding: 20px 16px 32px; max-width: 1240px; width: 100%; margin: 0 auto; min-width: 0 }
        .foot { display: flex; flex-wrap: wrap; gap: 4px 16px; margin-top: 28px; padding-top: 12px; font-size: 13px;
        color: var(--dim); border-top: 1px solid var(--line) }
        @media (min-width: 960px) {
        body:not(.plain) { display: grid; grid-template-columns: 232px minmax(0, 1fr) }
        .side { position: sticky; top: 0; height: 100vh; overflow: auto; border-bottom: 0;
        border-right: 1px solid var(--line); padding: 20px 14px }
        .brand { padding: 0 8px 10px } .menu-toggle { display: none }
        .side .brand ~ nav, .side .brand ~ .side-foot { display: grid !important }
        .side-foot { margin-top: auto; padding: 12px 8px 0; border-top: 1px solid var(--line) }
        main { padding: 28px 32px 40px }
        }
        /* Pieces */
        .head { display: flex; flex-wrap: wrap; align-items: center; gap: 10px 12px; margin-bottom: 16px }
        .head h1, .head h2, .head h3 { flex: 1 1 auto; margin: 0 } .head .actions { margin: 0 }
        .crumbs { margin: 0 0 6px; font-size: 13px; color: var(--dim); overflow-wrap: anywhere }
        .card { margin: 0 0 16px; padding: 18px; background: var(--card); border: 1px solid var(--line);
        border-radius: var(--radius); box-shadow: var(--shadow); min-width: 0 }
        fieldset { min-inline-size: 0 } legend { float: left; width: 100%; padding: 0; margin: 0 0 12px; font-weight: 600;
        font-size: 16px } legend + * { clear: both }
        .card > :last-child, .card > form:last-child > :last-child { margin-bottom: 0 }
        .narrow { max-width: 420px; margin: 8vh auto 0 } .narrow h1 { margin-bottom: 14px;
        text-align: center } .narrow form + p { margin-top: 14px } .plain .foot { display: none } .center { text-align: center }
        .page > h1 { margin-bottom: 16px }
        .grid { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr) } .grid > .card { margin: 0 }
        .grid { margin-bottom: 16px }
        .split { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); align-items: start }
        @media (min-width: 1100px) { .grid.two { grid-template-columns: repeat(2, minmax(0, 1fr)) }
        .split { grid-template-columns: minmax(0, 1fr) 380px } }
        .tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); margin-bottom: 16px }
        .tile { padding: 14px 16px; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius);
        box-shadow: var(--shadow) }
        .card .tile { box-shadow: none; background: var(--back) }
        .tile p { margin: 0 } .tile .label, .verdict .label { font-size: 13px; color: var(--dim) }
        .tile .figure { font-size: 28px; line-height: 1.25; font-weight: 650; font-variant-numeric: tabular-nums;
        letter-spacing: -.02em } .tile .dim { font-size: 13px } .tile.bad .figure { color: var(--bad) }
        .note { padding: 10px 14px; border-radius: 10px; border: 1px solid transparent; color: var(--text) }
        p.note { margin: 0 0 14px }
        .note.bad { background: var(--bad-soft); border-color: var(--bad) }
        .note.warn { background: var(--warn-soft); border-color: var(--warn) }
        .note.good { background: var(--good-soft); border-color: var(--good) }
        .empty { text-align: center; padding: 36px 20px } .empty h2 { font-size: 18px } .empty p { max-width: 60ch;
        margin-inline: auto } .empty pre { text-align: left; max-width: 720px; margin-inline: auto }
        .tag { display: inline-block; padding: 1px 9px; border-radius: 99px; font-size: 12.5px; font-weight: 550;
        background: var(--soft); color: var(--text); white-space: nowrap; vertical-align: 1px }
        .tag.good { background: var(--good-soft); color: var(--good) } .tag.warn { background: var(--warn-soft);
        color: var(--warn) } .tag.bad { background: var(--bad-soft); color: var(--bad) }
        .tag.info { background: var(--info-soft); color: var(--info) }
        .dot { display: inline-block; width: 9px; height: 9px; margin-right: 8px; border-radius: 50%; background: var(--dim) }
        .dot.good { background: var(--good) } .dot.warn { background: var(--warn) } .dot.bad { background: var(--bad) }
        .row { padding: 8px 0; border-bottom: 1px solid var(--line) } .row:last-of-type { border: 0 }
        .rows { list-style: none; margin: 0 0 10px; padding: 0 }
        .rows li { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; justify-content: space-between;
        padding: 10px 0; border-bottom: 1px solid var(--line) } .rows li:last-child { border: 0 }
        .rows li > div { min-width: 0; flex: 1 1 220px; overflow-wrap: anywhere } .rows .narrow-bar { flex: 0 1 220px }
        .reasons, .funnel { list-style: none; margin: 0 0 10px; padding: 0 }
        .reasons li, .funnel li { padding: 8px 0 } .reasons li > div { display: flex; gap: 8px; align-items: baseline }
        .reasons .num { margin-left: auto; font-weight: 600 } .reasons p { margin: 2px 0 0; font-size: 13px }
        .funnel li > div { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: baseline }
        .funnel span:first-child { min-width: 84px }
        .bar { display: block; width: 100%; height: 8px; margin: 4px 0; border-radius: 4px; background: var(--soft) }
        .bar-cell { min-width: 110px }
        rect.c-accepted { fill: var(--c-accepted) } rect.c-rejected { fill: var(--c-rejected) }
        rect.c-expired { fill: var(--c-expired) } rect.c-cancelled { fill: var(--c-cancelled) }
        rect.c-flight { fill: var(--c-flight) } rect.c-funnel { fill: var(--c-funnel) }
        .key.c-accepted { background: var(--c-accepted) } .key.c-rejected { background: var(--c-rejected) }
        .key.c-expired { background: var(--c-expired) } .key.c-cancelled { background: var(--c-cancelled) }
        .law { font-variant-numeric: tabular-nums }
        .chart { margin: 0 } .chart svg { display: block; width: 100%; height: auto } .grid-line { stroke: var(--line) }
        .axis { fill: var(--dim); font-size: 11px } .chart g:hover rect { opacity: .75 }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; margin: 8px 0 0; padding: 0;
        font-size: 13px } .key { display: inline-block; width: 10px; height: 10px; margin-right: 6px; border-radius: 3px }
        details > summary { cursor: pointer } .as-table { margin-top: 10px; font-size: 13px }
        .as-table .table { max-height: 260px; overflow: auto }
        table { width: 100%; border-collapse: collapse } th { font-weight: 600; font-size: 13px; color: var(--dim) }
        th, td { padding: 9px 12px 9px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
        th:last-child, td:last-child { padding-right: 0 } tbody tr:last-child > * { border-bottom: 0 }
        th.num, td.num { text-align: right } .table { overflow-x: auto } .table.card { padding: 6px 18px }
        @media (max-width: 719px) {
        .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
        .cards, .cards tbody, .cards tr, .cards td { display: block; width: 100% }
        .cards tr { padding: 10px 0; border-bottom: 1px solid var(--line) } .cards tr:last-child { border: 0 }
        .cards td { display: flex; gap: 4px 12px; align-items: center; justify-content: space-between; padding: 3px 0; border: 0; text-align: right;
        flex-wrap: wrap; overflow-wrap: anywhere }
        .cards td[data-label]::before { content: attr(data-label); margin-right: auto; color: var(--dim); font-size: 13px;
        text-align: left } .cards td .actions { margin: 0 }
        .cards td:first-child { display: block; text-align: left } .cards td:first-child::before { display: none }
        .cards .bar { flex: 1 1 100px; align-self: center }
        }
        dl { display: grid; grid-template-columns: minmax(90px, max-content) minmax(0, 1fr); gap: 6px 16px; margin: 0 0 10px }
        dt { color: var(--dim) } dd { margin: 0; overflow-wrap: anywhere }
        .tags { display: flex; flex-wrap: wrap; gap: 8px; list-style: none; margin: 0 0 12px; padding: 0 }
        .tags a { display: inline-block; padding: 3px 10px; border: 1px solid var(--line); border-radius: 99px }
        .tabs { display: flex; flex-wrap: wrap; gap: 4px; padding: 3px; border-radius: 10px; background: var(--soft);
        width: fit-content } .tabs a { padding: 4px 12px; border-radius: 7px; color: var(--text); text-decoration: none }
        .tabs a[aria-current] { background: var(--card); font-weight: 600; box-shadow: 0 1px 2px rgb(0 0 0 / .12) }
        p.crumbs ~ .tabs, .head + .tabs { margin-bottom: 16px }
        /* Forms */
        form { margin: 0 } .inline { display: inline }
        label { display: block; font-weight: 550; margin: 0 0 12px }
        input:not([type=hidden]), select, textarea { display: block; width: 100%; min-height: 40px; margin-top: 4px;
        padding: 8px 11px; border: 1px solid #8a92a1; border-radius: 8px; background: var(--card); color: inherit; font: inherit; font-weight: 400 }
        input, select, textarea { font-weight: 400 !important } textarea { resize: vertical } ::placeholder { color: var(--dim); opacity: 1 }
        .check { display: flex; align-items: center; gap: 8px; font-weight: 400 }
        .check input:not([type=hidden]) { width: auto; min-height: 0; margin: 0 }
        button, .button { display: inline-flex; align-items: center; justify-content: center; min-height: 38px;
        padding: 7px 15px; border: 1px solid #8a92a1; border-radius: 8px; background: var(--card); color: var(--text);
        font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
        button:hover, .button:hover { background: var(--soft) }
        button.primary, .button.primary { border-color: transparent; background: var(--accent); color: var(--on-accent) }
        button.primary:hover, .button.primary:hover { filter: brightness(1.1) }
        button.danger, .button.danger { border-color: var(--bad); color: var(--bad) }
        button.link { min-height: 0; padding: 2px 4px; border: 0; background: none; color: var(--accent);
        text-decoration: underline; font-weight: 500 } button.hidden { min-height: 0; padding: 0; border: 0 }
        .wide { width: 100% } .stack > button { width: 100% }
        .actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 4px 0 10px }
        .filter { display: flex; flex-wrap: wrap; gap: 10px 12px; align-items: flex-end }
        .filter label { flex: 1 1 140px; margin: 0; font-size: 14px } .filter .grow { flex: 2 1 220px }
        .filter .actions { margin: 0 } .table + .filter { margin-top: 16px }
        .pair { display: flex; flex-wrap: wrap; gap: 0 12px } .pair label { flex: 0 1 150px } .pair .grow { flex: 1 1 240px }
        .fields { display: grid; gap: 0 12px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)) }
        .confirm[open] { flex-basis: 100% } .confirm form { margin-top: 10px; padding: 12px; border: 1px solid var(--bad);
        border-radius: 10px } .confirm summary, .switch summary { list-style: none; width: fit-content }
        .switch { position: relative } .switch[open] ul { margin: 6px 0 0; padding: 10px 14px; list-style: none;
        background: var(--card); border: 1px solid var(--line); border-radius: 10px }
        .head .switch[open] ul { position: absolute; right: 0; z-index: 3; min-width: 260px;
        box-shadow: 0 8px 24px rgb(0 0 0 / .18) }
        .pager { text-align: center } .qr svg, img.qr { border-radius: 8px; background: #fff }
        .size { padding: 6px 0 } .size > div { display: flex; justify-content: space-between; gap: 8px }
        .verdict { border-left: 5px solid var(--accent); color: var(--text) } .verdict.warn { border-left-color: var(--warn) }
        .verdict.good { border-left-color: var(--good) } .verdict p + h2 { font-size: 19px; margin: 2px 0 4px } .verdict .label { margin: 0 }
        /* Devices */
        .preview { display: grid; gap: 12px; margin-bottom: 16px }
        .device { margin: 0; border: 1px solid var(--line); border-radius: 18px; overflow: hidden; background: var(--card) }
        .device figcaption { padding: 8px 14px 0; font-size: 12.5px; color: var(--dim) }
        .screen { padding: 10px 12px 14px } .device .screen { background: linear-gradient(160deg, #dfe4fb, #f6e4ee) }
        .push { padding: 11px 13px; border-radius: 16px; background: rgb(255 255 255 / .92); color: #14161c;
        box-shadow: 0 2px 8px rgb(20 20 60 / .14); font-size: 14px; line-height: 1.35 }
        .iphone .push, .browser .push { display: flex; gap: 10px } .push-text { flex: 1; min-width: 0 }
        .browser .push { border-radius: 8px } .push p { margin: 0; overflow-wrap: anywhere }
        .push-title { font-weight: 650; display: flex; justify-content: space-between; gap: 8px }
        .push-time, .push-app { color: #55596a; font-weight: 400; font-size: 12px }
        .push-body { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden;
        white-space: pre-line }
        .app-icon { flex: none; width: 36px; height: 36px; border-radius: 9px; background: linear-gradient(135deg, #4f46e5, #9d5cf0) }
        .push-app .app-icon { display: inline-block; width: 14px; height: 14px; border-radius: 50%; margin-right: 6px;
        vertical-align: -2px }
        .social { border: 1px solid var(--line); border-radius: 12px; overflow: hidden; margin-bottom: 12px }
        .social-image { height: 110px; background: linear-gradient(135deg, #4f46e5, #9d5cf0) }
        .social p { padding: 8px 14px 0; margin: 0; min-height: 1.5em } .social p:last-child { padding-bottom: 12px }
        @media (prefers-color-scheme: dark) { .device .screen { background: linear-gradient(160deg, #272b4d, #43293f) }
        .push { background: rgb(38 41 52 / .94); color: #eef0f6 } .push-time, .push-app { color: #b4b9c8 } }
        @media print { body { display: block !important; background: #fff } .side, .skip, form, .button, .actions, .pager,
        .tabs { display: none !important } .card, .tile { box-shadow: none; break-inside: avoid } main { padding: 0 }
        * { color: #000 } }
        @media (prefers-reduced-motion: no-preference) { .bar rect { transition: width .3s, x .3s } }
        """
}
