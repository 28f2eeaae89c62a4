/// The app's side in a browser: a script for the service worker, and an ES module for pages that imports it for what both
/// need. Together they stay below 10,000 bytes: comments are left out.
///
/// The core keeps one object in IndexedDB: where the gateway is, the installation, the registration, receipts that wait and
/// what was shown.
package enum BrowserModule {
    /// Where the module is.
    package static let path = "/client/herald-messaging.js"
    /// Where the worker's script is.
    package static let workerPath = "/client/herald-messaging-sw.js"

    /// The files, by path.
    static let files = [
        path: ServedFile(type: "text/javascript; charset=utf-8", text: code(page), for: .anywhere),
        workerPath: ServedFile(
            type: "text/javascript; charset=utf-8", text: "(() => {\n" + code(core + worker) + "})();\n",
            for: .anywhere),
    ]

    /// A script without the lines that are comments.
    private static func code(_ script: String) -> String {
        script.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.map { $0 + "\n" }.joined()
    }

    private static let core = #"""
        "use strict";
        const WEEK = 604800e3;
        // What reads the state and asks by it: one at a time, in all pages and the worker.
        const locked = (step) => navigator.locks.request("herald-messaging", step);
        // Whether the gateway, and no proxy, says that it has no such thing.
        const isGone = ({status, reason}) => status === 404 && reason || reason === "INSTALLATION_REQUIRED";
        // One step: reads the state, lets `change` alter it, writes it.
        async function update(change = () => {}) {
          const db = await new Promise((done, fail) => {
            const open = indexedDB.open("herald-messaging", 1);
            open.onupgradeneeded = () => open.result.createObjectStore("state");
            open.onsuccess = () => done(open.result);
            open.onerror = () => fail(open.error);
          });
          try {
            return await new Promise((done, fail) => {
              const step = db.transaction("state", "readwrite"), store = step.objectStore("state");
              let state;
              store.get("app").onsuccess = (event) => {
                state = event.target.result ?? {};
                change(state);
                store.put(state, "app");
              };
              step.oncomplete = () => done(state);
              step.onabort = () => fail(step.error);
            });
          } finally {
            db.close();
          }
        }
        async function call({app}, method, path, body, headers) {
          const answer = await fetch(`${app.gateway}/v1/projects/${app.project}/${path}`, {
            method, body: body && JSON.stringify(body), signal: AbortSignal.timeout(3e4),
            headers: {"X-Goog-Api-Key": app.clientKey, "Content-Type": "application/json", ...headers}});
          const json = await answer.json().catch(() => ({}));
          if (answer.ok) return json;
          const {message = `status ${answer.status}`, details} = json.error ?? {};
          throw Object.assign(new Error(message), {status: answer.status, reason: details?.at(-1)?.reason});
        }
        // Another auth token, or another installation where the gateway does not know this one.
        async function renew(state) {
          const keep = (token, installation) => update((kept) => Object.assign(
            kept, installation, {auth: token.token, authTime: Date.now()}));
          if (state.fid) {
            try {
              return await keep(await call(state, "POST", `installations/${state.fid}/authTokens:generate`, {},
                {Authorization: `FIS_v2 ${state.refreshToken}`}));
            } catch (error) {
              if (!isGone(error) && error.reason !== "INSTALLATION_INVALID") throw error;
            }
          }
          const {fid, refreshToken, authToken} = await call(
            state, "POST", "installations", {appId: state.app.appId, sdkVersion: "w:herald-1"});
          return keep(authToken, {fid, refreshToken, token: undefined});
        }
        // A call with the installation's auth token, which is renewed when it is old or not known.
        async function proven(method, path, body) {
          let state = await update();
          const age = Date.now() - state.authTime;
          if (!(age >= 0 && age < WEEK - 36e5)) state = await renew(state);
          const ask = () => call(state, method, path, body, {"X-Goog-Firebase-Installations-Auth": state.auth});
          try {
            return await ask();
          } catch (error) {
            if (error.reason !== "INSTALLATION_INVALID") throw error;
            state = await renew(state);
            return ask();
          }
        }
        async function register(subscription) {
          const {app} = await update();
          const {token} = await proven("POST", "registrations", {
            web: {...subscription.toJSON(), origin: app.origin, applicationPubKey: app.vapidKey}});
          await update((state) => Object.assign(state, {token, endpoint: subscription.endpoint, time: Date.now()}));
          return token;
        }
        // Queues receipts, of which the latest hundred wait, and sends what waits.
        async function report(...receipts) {
          const {queue, token, app} = await update((state) => {
            state.queue = [...state.queue ?? [], ...state.app?.receipts === false ? [] : receipts].slice(-100);
          });
          if (!token || !app || !queue.length) return;
          await locked(() => proven("POST", "receipts", {receipts: queue})).catch((error) => {
            // What is refused as it is is so each time.
            if (error.status !== 400) throw error;
          });
          const sent = new Set(queue.map((item) => JSON.stringify(item)));
          await update((state) => { state.queue = state.queue.filter((item) => !sent.has(JSON.stringify(item))); });
        }
        // None for what is no message of a gateway.
        const receipt = (message, kind) =>
          /^(projects\/[\w-]+\/messages\/)?[\w:-]{1,64}$/.test(message) &&
          ["RECEIVED", "OPENED", "IMPRESSION", "DISMISSED"].includes(kind) ?
            [{message, kind, time: new Date().toISOString()}] : [];
        self.heraldMessaging = {WEEK, update, locked, isGone, proven, register, report, receipt};
        // A page has no clients.
        if (!self.clients) return;

        """#

    private static let page = #"""
        import "./herald-messaging-sw.js";
        const {WEEK, update, locked, isGone, proven, register, report, receipt} = self.heraldMessaging;
        // options: gateway, project, clientKey, vapidKey; appId; origin, the web app's id; worker, a path of this origin;
        // scope; receipts: false for none.
        export function getMessaging(options) {
          return {worker: "/herald-messaging-sw.js", appId: "web", origin: location.hostname, ...options};
        }
        async function ready(messaging) {
          const {worker, scope, ...app} = messaging;
          await update((state) => {
            // Of another project nothing is of use.
            if (state.app && (state.app.gateway !== app.gateway || state.app.project !== app.project)) {
              for (const name in state) delete state[name];
            }
            state.app = JSON.parse(JSON.stringify(app));
          });
        }
        const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt());
        async function subscribed(messaging) {
          const worker = await navigator.serviceWorker.register(
            messaging.worker, messaging.scope && {scope: messaging.scope});
          await new Promise((done, fail) => {
            const waits = worker.installing ?? worker.waiting;
            if (worker.active || !waits) return done();
            waits.addEventListener("statechange", () => waits.state === "activated" ? done()
              : waits.state === "redundant" && fail(new Error("The worker was not installed.")));
          });
          const key = bytes(messaging.vapidKey);
          const found = await worker.pushManager.getSubscription();
          if (found) {
            const used = new Uint8Array(found.options?.applicationServerKey ?? key);
            if (used.length === key.length && used.every((byte, at) => byte === key[at])) return found;
            await found.unsubscribe();
          }
          return worker.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: messaging.vapidKey});
        }
        // The registration token; asks for the permission, registers, and again after a week or with another subscription.
        export async function getToken(messaging) {
          if (await Notification.requestPermission() !== "granted") throw new Error("The browser may not notify.");
          await ready(messaging);
          const subscription = await subscribed(messaging);
          report().catch(() => {});
          return locked(async () => {
            const {token, endpoint, time} = await update();
            const age = Date.now() - time;
            return token && endpoint === subscription.endpoint && age >= 0 && age < WEEK ? token : register(subscription);
          });
        }
        // Calls back with each push while the page is open; answers what ends it.
        export function onMessage(messaging, callback) {
          const listen = ({data}) => data?.heraldMessage && callback(data.heraldMessage);
          navigator.serviceWorker.addEventListener("message", listen);
          navigator.serviceWorker.startMessages();
          return () => navigator.serviceWorker.removeEventListener("message", listen);
        }
        export async function deleteToken(messaging) {
          const {token} = await update();
          if (token) {
            await locked(() => proven("DELETE", `registrations/${token}`)).catch((error) => {
              if (!isGone(error)) throw error;
            });
          }
          const worker = await navigator.serviceWorker.getRegistration(messaging.scope ?? messaging.worker);
          await (await worker?.pushManager.getSubscription())?.unsubscribe();
          await update((state) => { delete state.token; });
        }
        async function topic(messaging, name, verb) {
          const ask = async () => {
            const token = await getToken(messaging);
            await locked(() => proven(
              "POST", `registrations/${token}/topicSubscriptions/${encodeURIComponent(name)}:${verb}`));
          };
          return ask().catch(async (error) => {
            if (!isGone(error)) throw error;
            // The registration has ended: another one.
            await update((state) => { delete state.token; });
            return ask();
          });
        }
        export const subscribe = (messaging, name) => topic(messaging, name, "subscribe");
        export const unsubscribe = (messaging, name) => topic(messaging, name, "unsubscribe");
        // kind: RECEIVED, OPENED or IMPRESSION; the worker says the first two by itself.
        export async function sendReceipt(messaging, message, kind) {
          const said = receipt(message, kind);
          if (!said.length) throw new TypeError(`No receipt: ${message}, ${kind}`);
          await ready(messaging);
          await report(...said);
        }

        """#

    private static let worker = #"""
        async function received(push) {
          const id = push.fcmMessageId, shown = push.notification;
          if (shown) {
            const {title = "", navigate, ...options} = shown;
            // A click names the notification by its tag.
            options.tag ||= id;
            await update((state) => {
              state.shown = [...(state.shown ?? []).filter(([tag]) => tag !== options.tag),
                [options.tag, id, push.fcmOptions?.link ?? navigate]].slice(-50);
            });
            await self.registration.showNotification(title, options);
          }
          for (const page of await self.clients.matchAll({type: "window", includeUncontrolled: true})) {
            page.postMessage({heraldMessage: push});
          }
          await report(...receipt(id, "RECEIVED")).catch(() => {});
        }
        async function opened(tag) {
          const [, id, link] = ((await update()).shown ?? []).find((item) => item[0] === tag) ?? [];
          if (link) await self.clients.openWindow(link).catch(() => {});
          await report(...receipt(id, "OPENED")).catch(() => {});
        }
        self.addEventListener("push", (event) => {
          let push = {};
          try {
            push = event.data?.json() ?? {};
          } catch {
            push = {notification: {title: event.data.text()}};
          }
          event.waitUntil(received(push));
        });
        self.addEventListener("notificationclick", (event) => {
          event.notification.close();
          event.waitUntil(opened(event.notification.tag));
        });
        self.addEventListener("pushsubscriptionchange", (event) => {
          event.waitUntil((async () => {
            const {app, token} = await update();
            // Without one the page has left, or none has come.
            if (!token) return;
            const subscription = event.newSubscription ?? await self.registration.pushManager.subscribe(
              {userVisibleOnly: true, applicationServerKey: app.vapidKey});
            await locked(() => register(subscription));
          })());
        });
        self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

        """#
}
