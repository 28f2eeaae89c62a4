/// The script of the console: an ES module without build step. Every page works without it.
enum ConsoleScript {
    static let text = #"""
        // Times in the reader's zone, and how long ago they are.
        const units = [[60, 'second'], [60, 'minute'], [24, 'hour'], [30, 'day'], [12, 'month'], [Infinity, 'year']];
        const relative = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});
        const absolute = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
        const forms = {
          clock: new Intl.DateTimeFormat(undefined, {timeStyle: 'short'}),
          day: new Intl.DateTimeFormat(undefined, {month: 'numeric', day: 'numeric'}),
        };
        const begin = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});
        function ago(time) {
          let span = (time - Date.now()) / 1000;
          for (const [size, unit] of units) {
            if (Math.abs(span) < size) return relative.format(Math.round(span), unit);
            span /= size;
          }
        }
        function showTimes(root = document) {
          for (const element of root.querySelectorAll('time[datetime]')) {
            const time = new Date(element.dateTime);
            element.textContent = `${absolute.format(time)} (${ago(time)})`;
            element.title = element.dateTime;
          }
          // Those of charts.
          for (const element of root.querySelectorAll('[data-time]')) {
            const form = forms[element.dataset.form] ?? begin;
            element.textContent = form.format(new Date(element.dataset.time)) + (element.dataset.rest ?? '');
          }
        }
        showTimes();
        setInterval(showTimes, 30000);

        // Pages that follow what happens: the server sends the part that changed.
        const live = document.body.dataset.live;
        const part = document.querySelector('[data-live-part]');
        if (live && part && window.EventSource) {
          const state = document.querySelector('.live-state');
          const say = (text) => { state.hidden = false; state.textContent = text; };
          let source, wait = 2500;
          const show = (event) => {
            const open = [...part.querySelectorAll('details')].map((details) => details.open);
            const holdsFocus = part.contains(document.activeElement) && document.activeElement !== document.body;
            if (holdsFocus && document.activeElement.matches('input, textarea, select')) return;
            const focus = holdsFocus
              ? [...part.querySelectorAll('a, button, summary')].indexOf(document.activeElement) : -1;
            part.innerHTML = event.data;
            part.querySelectorAll('details').forEach((details, place) => { details.open = open[place] ?? details.open; });
            if (focus >= 0) part.querySelectorAll('a, button, summary')[focus]?.focus();
            showTimes(part);
          };
          const follow = () => {
            source = new EventSource(live);
            source.addEventListener('open', () => { wait = 2500; say('Live'); });
            source.addEventListener('error', () => {
              say('Connection lost; trying again');
              // An answer other than 200, as when too many pages are open, ends an EventSource: another is made, later each time.
              if (source.readyState === EventSource.CLOSED) setTimeout(follow, wait = Math.min(2 * wait, 60000));
            });
            source.addEventListener('over', () => { source.close(); say('Reload the page to go on'); });
            source.addEventListener('part', show);
          };
          follow();
          addEventListener('pagehide', () => source.close());
        }

        // Pictures of devices show what is typed.
        for (const field of document.querySelectorAll('[data-field]')) {
          const name = field.dataset.field;
          const shown = document.querySelectorAll(`[data-show="${name}"]`);
          field.addEventListener('input', () => shown.forEach((element) => {
            element.textContent = field.value || (name === 'title' ? 'Title' : 'What the message says');
          }));
        }

        // The composer asks the gateway what it makes of the message, and keeps the draft.
        const composer = document.querySelector('[data-composer]');
        if (composer) {
          const check = composer.querySelector('[data-check]');
          const saved = composer.querySelector('[data-saved]');
          let timer, running;
          const ask = async () => {
            running?.abort();
            running = new AbortController();
            try {
              const answer = await fetch(composer.dataset.composer, {
                method: 'POST', body: new URLSearchParams(new FormData(composer)), signal: running.signal,
              });
              if (!answer.ok && answer.status !== 413) throw new Error(answer.status);
              const open = [...check.querySelectorAll('details')].map((details) => details.open);
              check.innerHTML = await answer.text();
              check.querySelectorAll('details').forEach((details, place) => { details.open = open[place] ?? false; });
              showCopy();
              saved.textContent = answer.ok ? 'Draft saved' : 'Not saved: it is too large';
              history.replaceState(null, '', `?draft=${encodeURIComponent(composer.elements.draft.value)}`);
            } catch (error) {
              if (error.name !== 'AbortError') saved.textContent = 'Not saved: the gateway can’t be reached';
            }
          };
          composer.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(ask, 300); });
        }

        // Copies what stands beside the button.
        function showCopy() {
          if (!navigator.clipboard) return;
          for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
        }
        showCopy();
        document.addEventListener('click', async (event) => {
          const button = event.target.closest('[data-copy]');
          if (!button) return;
          await navigator.clipboard.writeText(document.querySelector(`[data-copy-source="${button.dataset.copy}"]`).textContent);
          button.textContent = 'Copied';
          setTimeout(() => { button.textContent = 'Copy'; }, 2000);
        });

        // Keys: / goes to the search, j and k through rows, g and a letter to a page.
        document.addEventListener('keydown', (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, textarea, select')) return;
          if (event.key === '/') {
            const field = document.querySelector('[role=search] input');
            if (field) { event.preventDefault(); field.focus(); }
          }
          if (event.key === 'j' || event.key === 'k') {
            const rows = [...document.querySelectorAll('main tbody a, main .rows a')];
            const place = rows.indexOf(document.activeElement) + (event.key === 'j' ? 1 : -1);
            rows[Math.max(0, Math.min(place, rows.length - 1))]?.focus();
          }
        });
        """#
}
