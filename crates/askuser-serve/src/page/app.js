// The page: the pending questions, one question, and the log. Untrusted text only becomes text nodes.

// ---- small tools ----

const $ = id => document.getElementById(id);
const main = $('main');

/** Returns an element. Strings among its children become text nodes; null and false are left out. */
const el = (tag, props = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'class') node.className = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== false && child !== undefined));
  return node;
};

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
const pause = ms => new Promise(done => setTimeout(done, ms));
const say = text => { $('said').textContent = text; };

const TOKEN = 'askuser.token';
const read = key => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
const write = (key, value) => {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch { return false; }
};

/** The token of this page, and the browser's data for it. Each key contains the credential's id. The data is removed with the token. */
const kept = {
  token: read(TOKEN),
  key: name => `askuser.${kept.token?.split('_')[1]}.${name}`,
  get: name => read(kept.key(name)),
  set: (name, value) => Boolean(kept.token) && write(kept.key(name), value),
  /** Returns the stored names with this beginning. */
  names: begin => {
    try {
      return Object.keys(localStorage).filter(key => kept.token && key.startsWith(kept.key(begin))).map(key => key.slice(kept.key('').length));
    } catch { return []; }
  },
  /** Removes the data of other credentials. */
  tidy: () => {
    try {
      const others = Object.keys(localStorage).filter(key => key.startsWith('askuser.') && key !== TOKEN && !(kept.token && key.startsWith(kept.key(''))));
      others.forEach(key => localStorage.removeItem(key));
    } catch { /* the browser stores nothing for this page */ }
  },
};
kept.tidy();

/** Uses another token, or none. The page reloads, so that text typed before is never sent with the new token. */
const adopt = token => {
  write(TOKEN, token);
  kept.token = token;
  kept.tidy();
  location.reload();
};
addEventListener('storage', event => {
  // Another tab uses another token, or has sent an answer.
  if (event.key === TOKEN || event.key === null) location.reload();
  else if (event.key.startsWith(kept.key('sending.'))) { outbox.deliver(); changed(null); }
});

const ago = ms => {
  const seconds = Math.max(0, Math.round((Date.now() + skew - ms) / 1000));
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
};
const clock = ms => new Date(ms).toLocaleString([], {dateStyle: 'medium', timeStyle: 'short'});

// ---- the server ----

/** The lead of the server's clock, because ages and deadlines are by the store's time. */
let skew = 0;
let online = true;

/** Sends one request. Fails without a reply. Returns any reply with its status. A revoked token ends the page instead. */
const request = async (method, path, {body, key, signal, accept, keepalive} = {}) => {
  const headers = {'X-Askuser': '1', Accept: accept ?? 'application/json'};
  const {token} = kept;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', redirect: 'error', keepalive,
    });
  } catch (error) {
    if (error.name !== 'AbortError') connection(false);
    throw error;
  }
  connection(true);
  if (response.status === 401 && token) {
    if (read(TOKEN) === token) adopt(null); else location.reload();
    return new Promise(() => {});
  }
  return response;
};

const call = async (method, path, options) => {
  const response = await request(method, path, options);
  const body = await response.json().catch(() => null);
  const read = body?.read_ms ?? body?.questions?.[0]?.read_ms;
  if (read) skew = read - Date.now();
  return {status: response.status, body};
};

const connection = now => {
  if (now === online) return;
  online = now;
  $('connection').hidden = online;
  $('connection').textContent = online ? '' : 'No connection. What you type is kept in this browser and sent when you are back.';
  if (!online) return;
  wake();
  outbox.kick();
  view.store?.();
  flushDrafts().catch(() => {});
};

/** Returns the message for a failed request. */
const failure = ({status, body}) => body?.error?.message ?? `The server answered ${status}.`;

// ---- answers without a reply ----

/** Sends an answer once. Fails without a reply within 20 s. It is then unknown whether the answer was stored; the same attempt finds out. */
const post = async (id, {path, body, attempt}) => {
  const cut = new AbortController();
  const timer = setTimeout(() => cut.abort(), 20_000);
  const reply = await call('POST', `/questions/${id}/${path}`, {body, key: attempt, signal: cut.signal}).finally(() => clearTimeout(timer));
  if (reply.status >= 500) throw new Error(failure(reply));
  return reply;
};

/** Sends answers of all views and tabs until each has a reply. The attempt stays the same, so sending twice is safe. */
const outbox = {
  kick: () => {},
  failed: new Set(),
  has: id => kept.get(`sending.${id}`) !== null,
  ids: () => kept.names('sending.').map(name => name.slice('sending.'.length)),
  deliver: async () => {
    if (outbox.running) return;
    outbox.running = true;
    for (let wait = 500; outbox.ids().length; wait = Math.min(wait * 2, 10_000)) {
      for (const id of outbox.ids()) await outbox.send(id);
      if (outbox.ids().length) await Promise.race([pause(wait), new Promise(done => { outbox.kick = done; })]);
    }
    outbox.running = false;
  },
  send: async id => {
    const pending = kept.get(`sending.${id}`);
    const reply = pending && await post(id, pending).catch(() => null);
    const isTaken = kept.get(`sending.${id}`)?.attempt !== pending?.attempt;
    if (!reply) outbox.failed.add(id);
    else if (!isTaken) kept.set(`sending.${id}`, null);
    if (reply?.status < 300) forgetDraft(id, pending.cleared);
    // After the answer was taken back, only the store knows the state of the question.
    if (!isTaken && view.sent) view.sent(id, reply); else changed(id);
  },
  takeBack: id => { kept.set(`sending.${id}`, null); outbox.failed.delete(id); },
};

// ---- events: one stream for all tabs of a browser ----

const channel = 'BroadcastChannel' in window ? new BroadcastChannel('askuser') : null;
let leading = false;
let wake = () => {};

/** Reloads the view, because the store has changed. */
const changed = id => {
  if (view.changed) view.changed(id);
  count();
};
channel?.addEventListener('message', event => changed(event.data));

const listen = async () => {
  let wait = 0;
  let last = null;
  for (;;) {
    if (!kept.token) return;
    const cut = new AbortController();
    try {
      const response = await request('GET', `/events${last ? `?after=${encodeURIComponent(last)}` : ''}`, {signal: cut.signal, accept: 'text/event-stream'});
      if (!response.ok) throw new Error(String(response.status));
      wait = 0;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        // The server sends a heartbeat every 15 seconds. Silence means that the connection is dead.
        const silence = setTimeout(() => cut.abort(), 45_000);
        const {value, done} = await reader.read().finally(() => clearTimeout(silence));
        if (done) break;
        const frames = (rest + value).split('\n\n');
        rest = frames.pop();
        for (const frame of frames) {
          const fields = Object.fromEntries(frame.split('\n').filter(line => /^\w/.test(line))
            .map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]));
          if (fields.id) last = fields.id;
          if (!fields.data) continue;
          let data = null;
          try { data = JSON.parse(fields.data); } catch { /* a frame of a later version */ }
          channel?.postMessage(data?.id ?? null);
          changed(data?.id ?? null);
        }
      }
    } catch { /* said by the connection */ }
    // The first retry is immediate, later ones are slower. A restored connection ends the pause.
    await Promise.race([pause(wait), new Promise(done => { wake = done; })]);
    wait = Math.min(30_000, wait ? wait * 2 : 1000);
  }
};

const lead = () => {
  if (leading || !kept.token) return;
  leading = true;
  if (navigator.locks) navigator.locks.request('askuser.events', listen).finally(() => { leading = false; });
  else listen().finally(() => { leading = false; });
};

// ---- the number of pending questions: title, icon, notification ----

let waiting = null;
const count = async () => {
  if (!kept.token) return;
  try {
    const {status, body} = await call('GET', '/questions?state=pending&view=page');
    if (status === 200) await counted(body);
  } catch { /* said by the connection */ }
};

const counted = async body => {
  const before = waiting;
  // Questions for others cause no notification here.
  const mine = body.questions.filter(question => question.mine !== false);
  const total = body.next ? (await call('GET', '/count?state=pending&mine=1')).body.count : mine.length;
  waiting = new Set(mine.map(question => question.id));
  document.title = `${total ? `(${total}) ` : ''}askuser`;
  const digits = total > 99 ? '99' : String(total);
  const badge = total ? `<circle cx='46' cy='18' r='18' fill='#b91c1c'/><text x='46' y='26' font-size='24' font-family='sans-serif' font-weight='700' fill='#fff' text-anchor='middle'>${digits}</text>` : '';
  const drawing = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64'><rect width='64' height='64' rx='14' fill='#4f46e5'/><path d='M24 24a8 8 0 1 1 11 7.4c-2 .9-3 2-3 4.6v2' fill='none' stroke='#fff' stroke-width='6' stroke-linecap='round'/><circle cx='32' cy='48' r='4' fill='#fff'/>${badge}</svg>`;
  $('icon').href = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
  navigator.setAppBadge?.(total).catch(() => {});
  const fresh = before && mine.filter(question => !before.has(question.id));
  if (fresh?.length) announce(fresh);
};

const announce = fresh => {
  const {page} = fresh.at(-1);
  say(`${page.by ?? 'An agent'} asks: ${page.title}`);
  if (kept.get('notify') !== true || document.visibilityState === 'visible') return;
  beep();
  if (mayNotify()) {
    const note = new Notification(`${page.by ?? 'An agent'} asks`, {body: [page.from, page.title].filter(Boolean).join(' · '), tag: fresh.at(-1).id});
    note.onclick = () => { window.focus(); location.hash = `#/q/${fresh.at(-1).id}`; note.close(); };
  }
};

const beep = () => {
  try {
    const audio = new AudioContext();
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    volume.gain.value = 0.05;
    tone.frequency.value = 660;
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.15);
    tone.onended = () => audio.close();
  } catch { /* no sound here */ }
};

const mayNotify = () => isSecureContext && globalThis.Notification?.permission === 'granted';
const offerNotifications = () => {
  const button = $('notify');
  button.hidden = !kept.token;
  const on = kept.get('notify') === true;
  button.textContent = !on ? 'Notify me' : mayNotify() ? 'Notifications on' : 'Sound only';
  button.title = on && !mayNotify() ? 'The browser shows notifications of this page over HTTPS or on this computer itself, and if you allow them.' : '';
  button.setAttribute('aria-pressed', String(on));
  button.onclick = async () => {
    kept.set('notify', !on);
    if (!on && isSecureContext) await globalThis.Notification?.requestPermission();
    offerNotifications();
    say(button.title);
  };
};

// ---- rows of Markdown, drawn ----

const pieces = list => list.map(piece => {
  let node = document.createTextNode(piece.text);
  if (piece.token === 'code') node = el('code', {}, node);
  else if (piece.token) node = el('span', {class: piece.token}, node);
  if (piece.bold) node = el('strong', {}, node);
  if (piece.italic) node = el('em', {}, node);
  if (piece.struck) node = el('s', {}, node);
  if (piece.link) node = el('u', {}, node);
  return node;
});

const marks = {bullet: '• ', open: '☐ ', done: '☑ '};
const row = row => {
  const mark = row.marker && (marks[row.marker] ?? `${row.marker.number} `);
  const words = [mark && el('span', {class: 'keyword'}, mark), ...pieces(row.pieces)];
  const inner = () => {
    switch (row.kind) {
      case 'blank': return el('br');
      case 'rule': return el('hr');
      case 'heading': return el(row.of <= 2 ? 'h3' : 'h4', {}, words);
      case 'fence_open': return row.of ? el('p', {class: 'muted'}, row.of) : null;
      case 'fence_close': return null;
      case 'code': return el('p', {class: 'code'}, pieces(row.pieces));
      case 'diff': return el('p', {class: `code ${row.of}`}, pieces(row.pieces));
      case 'table': return table(row.of);
      default: return el('p', {}, words);
    }
  };
  let node = inner();
  if (!node) return null;
  // The indentation is in nested elements, because the policy allows no style attribute.
  for (let i = 0; i < Math.min(6, Math.floor(row.indent / 2)); i += 1) node = el('div', {class: 'under'}, node);
  for (let i = 0; i < row.quotes; i += 1) node = el('div', {class: 'quote'}, node);
  return node;
};
const rows = list => el('div', {class: 'rows'}, list.map(row));

const table = ({header, rows, align}) => {
  const cell = tag => (cell, at) => el(tag, {class: align[at]}, pieces(cell));
  return el('table', {}, el('thead', {}, el('tr', {}, header.map(cell('th')))),
    el('tbody', {}, rows.map(cells => el('tr', {}, cells.map(cell('td'))))));
};

// ---- the list ----

const facts = ({id, asked_ms, asker, state, background, page}) => el('span', {class: 'facts'},
  page.for && el('span', {class: 'chip'}, `for ${page.for}`),
  el('span', {}, page.by ?? 'An agent'), page.from && el('span', {}, page.from), page.host && el('span', {}, page.host), page.task && el('span', {}, page.task),
  el('span', {}, ago(asked_ms)),
  outbox.has(id) && el('span', {class: 'chip'}, 'sending…'),
  state === 'pending' && asker?.waits === false && el('span', {class: 'chip'}, asker.gone_ms && !background ? 'agent gone' : 'not waiting'));

const states = {answered: 'answered', cancelled: 'dismissed', declined: 'declined', discuss: 'talk first', timed_out: 'timed out', withdrawn: 'withdrawn', settled: 'settled where it was asked'};

/** The replies read last: lists by state, and questions by id. They are shown again without a connection. */
const lists = {};
const known = new Map();

const listView = state => {
  const filter = el('input', {type: 'search', id: 'filter', 'aria-label': 'Filter', placeholder: 'Filter', autocomplete: 'off'});
  const list = el('ul', {class: 'list'});
  const empty = el('p', {class: 'muted'});
  const more = el('button', {type: 'button', hidden: true}, 'Show more');
  let cursor = null;
  let run = 0;
  let drawn = null;
  const item = question => {
    const [first] = question.page.questions;
    const many = question.page.questions.length;
    return el('li', {}, el('a', {href: `#/q/${question.id}`},
      el('span', {class: 'chip'}, first.header), many > 1 && el('span', {class: 'muted'}, ` and ${many - 1} more`),
      el('span', {class: 'words'}, question.page.title), facts(question),
      state !== 'pending' && el('span', {class: 'facts'}, outcome(question))));
  };
  const load = async further => {
    const mine = run += 1;
    const search = new URLSearchParams({state, view: 'page'});
    if (filter.value.trim()) search.set('q', filter.value.trim());
    if (further && cursor) search.set('cursor', cursor);
    let reply;
    const isWhole = !further && !filter.value.trim();
    try { reply = await call('GET', `/questions?${search}`); } catch {
      if (!isWhole || !lists[state]) return;
      reply = lists[state];
    }
    // A later keystroke has started another request.
    if (mine !== run) return;
    if (reply.status !== 200) { empty.textContent = failure(reply); return; }
    const {questions, next, unreadable = []} = reply.body;
    if (isWhole) lists[state] = reply;
    questions.forEach(question => known.set(question.id, question));
    // A row that is redrawn under a finger would miss the tap.
    const now = JSON.stringify([Math.floor(Date.now() / 60_000), next, unreadable, outbox.ids(), questions.map(question => ({...question, read_ms: 0}))]);
    if (!further && now === drawn) return;
    drawn = further ? null : now;
    const focused = document.activeElement?.getAttribute?.('href');
    // The person's own questions come first on every page of the list.
    if (!further) list.replaceChildren();
    for (const question of questions) {
      const isFirst = state === 'pending' && question.mine === false && !list.querySelector('.others');
      if (isFirst) list.append(el('li', {class: 'others'}, el('h2', {}, 'For others')));
      list.append(item(question));
    }
    for (const id of unreadable) list.append(el('li', {class: 'muted'}, `question ${id} cannot be read`));
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    cursor = next ?? null;
    more.hidden = !cursor;
    empty.textContent = list.children.length ? '' : filter.value ? 'Nothing matches.' : state === 'pending' ? 'Nothing waits for you.' : 'Nothing was decided yet.';
    if (state === 'pending' && !filter.value && !further) counted(reply.body);
  };
  filter.addEventListener('input', () => load());
  more.addEventListener('click', () => load(true));
  const timer = setInterval(() => load(), 60_000);
  return {
    nodes: [el('h1', {}, state === 'pending' ? 'Waiting for you' : 'History'), filter, list, empty, more],
    start: () => load(),
    changed: () => load(),
    leave: () => clearInterval(timer),
    key: event => {
      const links = [...list.querySelectorAll('a')];
      const at = links.indexOf(document.activeElement);
      if (event.key === '/') { filter.focus(); return true; }
      if (['ArrowDown', 'j'].includes(event.key)) { links[Math.min(at + 1, links.length - 1)]?.focus(); return true; }
      if (['ArrowUp', 'k'].includes(event.key)) { links[Math.max(at - 1, 0)]?.focus(); return true; }
      if (/^[1-9]$/.test(event.key) && links[event.key - 1]) { links[event.key - 1].click(); return true; }
      return false;
    },
  };
};

/** Describes the ending of a question. */
const ending = ({resolution, settled, state, page, withdrawn_by: by, ended_ms: at}) => {
  const device = resolution?.device && resolution.device !== resolution.by ? ` on ${resolution.device}` : '';
  const who = resolution?.by ?? settled?.by ?? by;
  const name = page?.not_run ? `not run: ${page.not_run},` : states[state] ?? state;
  return [`${name[0].toUpperCase()}${name.slice(1)}${who ? ` by ${who}${device}` : ''}`, resolution?.via && `via ${resolution.via}`, at && clock(at)].filter(Boolean).join(', ');
};
const chosen = answer => [...answer.selectedOptions, ...(answer.customInput ? [answer.customInput] : [])];
const outcome = question => {
  const answers = question.page?.not_run ? [] : question.resolution?.answers ?? [];
  const names = answers.map(answer => chosen(answer).join(', '));
  const fetched = question.background && question.resolution && !question.delivered_ms && `${question.page?.by ?? 'The agent'} has not fetched it`;
  return [[ending(question), names.join(' · ')].filter(Boolean).join(': '), fetched].filter(Boolean).join('; ');
};

// ---- drafts ----

/** Saves a draft. Returns the reply, and whether this browser may remove its copy. A closing page may still send a short draft. */
const saveDraft = async (id, body) => {
  const reply = await call('PUT', `/questions/${id}/draft`, {body, keepalive: JSON.stringify(body).length < 15_000});
  return {others: reply.body?.drafts ?? [], stored: reply.status < 300, done: reply.status < 300 || [403, 404].includes(reply.status)};
};

/** Saves the drafts of other pages of this browser that were closed or offline. Each draft keeps its version. */
const flushDrafts = async () => {
  for (const name of kept.names('draft.').filter(name => !name.endsWith(`.${view.writer}`))) {
    const {id, body} = kept.get(name) ?? {};
    const {done} = id ? await saveDraft(id, body) : {done: true};
    // The page of the draft may have stored a later one meanwhile.
    if (done && JSON.stringify(kept.get(name)?.body) === JSON.stringify(body)) kept.set(name, null);
  }
};

/** Removes the draft of the page that has sent its answer. Text that another tab has not sent stays. */
const forgetDraft = (id, cleared) => {
  const name = `draft.${id}.${cleared.version.writer}`;
  kept.set(name, {id, body: cleared});
  saveDraft(id, cleared).then(({done}) => { if (done) kept.set(name, null); }, () => {});
};

/** Describes a draft, with a line for each question and field. */
const wordsOf = ({answers, discuss, decline}) => [
  ...answers.map(answer => {
    const notes = answer.note ? [answer.note] : (answer.notes ?? []).map(({text}) => text);
    return `${answer.header}: ${[...chosen(answer), answer.typed, ...notes.map(text => `(note: ${text})`)].filter(Boolean).join(', ')}`;
  }),
  ...(discuss ? [`To talk about: ${discuss}`] : []), ...(decline ? [`To decline: ${decline}`] : [])];

// ---- one question ----

/** The number of options beyond which a list has a search field. */
const SEARCHED = 20;
const READ_FIRST = 'Read it to its end first: Space reads on.';

const questionView = id => {
  const box = el('div');
  let question = null;
  let work = null;
  let closed = false;
  let inFlight = false;
  const isSending = () => inFlight || outbox.has(id);

  const pageOf = () => question.page;
  const isMine = () => question.mine !== false;
  const blank = () => ({at: 0, seen: 0, read: false, attempt: random(), discuss: null, decline: null,
    answers: pageOf().questions.map(() => ({picks: [], other: '', isOther: false, notes: new Map()}))});

  // -- drafts --
  const asDraft = () => ({
    answers: pageOf().questions.map((asked, i) => ({asked, done: work.answers[i]})).filter(({done}) => done.picks.length || done.other || [...done.notes.values()].some(Boolean))
      .map(({asked, done}) => ({...answerOf(asked, done, done.notes), ...(done.other && !done.isOther ? {typed: done.other} : {})})),
    ...(work.discuss !== null ? {discuss: work.discuss} : {}),
    ...(work.decline !== null ? {decline: work.decline} : {}),
  });
  /** Returns the notes of the chosen options. A note is shown and sent only with its option. The empty label is Other's. */
  const notesOf = done => [...done.notes].filter(([label]) => (label === '' ? done.isOther : done.picks.includes(label)));
  const answerOf = (asked, done, given = notesOf(done)) => {
    const notes = [...given].filter(([, text]) => text.trim()).map(([label, text]) => label === '' ? {text} : {option: label, text});
    const only = notes.length === 1 && done.picks.length + done.isOther === 1 && (notes[0].option ?? '') === (done.picks[0] ?? '');
    return {question: asked.verbatim, header: asked.header_verbatim, selectedOptions: done.picks,
      ...(done.isOther && done.other.trim() ? {customInput: done.other} : {}),
      ...(only ? {note: notes[0].text} : notes.length ? {notes} : {})};
  };
  const fromDraft = draft => {
    const state = blank();
    const given = draft ?? {answers: []};
    for (const unsent of given.answers ?? []) {
      const i = pageOf().questions.findIndex(asked => asked.verbatim === unsent.question);
      if (i < 0) continue;
      const done = state.answers[i];
      const known = pageOf().questions[i].options.map(option => option.label);
      done.picks = (unsent.selectedOptions ?? []).filter(label => known.includes(label));
      done.isOther = Boolean(unsent.customInput);
      done.other = unsent.customInput ?? unsent.typed ?? '';
      for (const note of unsent.notes ?? []) done.notes.set(note.option ?? '', note.text);
      if (unsent.note && !unsent.notes) done.notes.set(done.picks[0] ?? '', unsent.note);
    }
    state.discuss = given.discuss ?? null;
    state.decline = given.decline ?? null;
    return state;
  };
  // `replaces` has the versions of drafts that this page has taken over. `others` has the drafts that await the person's choice.
  const writer = random();
  const local = `draft.${id}.${writer}`;
  let edit = 0;
  let replaces = [];
  let others = [];
  let changed = false;
  let saving = null;
  let held = false;
  let stored = Promise.resolve();
  const keep = () => {
    const body = {...asDraft(), version: {writer, edit}, replaces};
    kept.set(local, {id, attempt: work.attempt, body});
    return body;
  };
  const save = () => {
    // The deadline is removed once the person has begun to answer.
    if (question.expires_ms && !held) { held = true; call('POST', `/questions/${id}/hold`, {body: {}}).then(load, () => {}); }
    changed = true;
    keep();
    clearTimeout(saving);
    saving = setTimeout(store, 500);
  };
  /** Saves the changes of this page. Saves run one after the other, so that the last one arrives last. */
  const store = () => {
    clearTimeout(saving);
    if (!changed || closed || !isMine()) return stored;
    changed = false;
    edit += 1;
    const body = keep();
    stored = stored.then(() => saveDraft(id, body)).then(reply => {
      if (reply.stored) others = reply.others;
      if (!changed && body.version.edit === edit) {
        if (reply.done) kept.set(local, null); else changed = true;
      }
      drawRival();
    }, () => { changed = true; });
    return stored;
  };
  const isOpen = other => !replaces.some(seen => seen.writer === other.version.writer && seen.edit === other.version.edit);
  /** Returns the choice between this draft and the same person's draft from another surface. */
  const rival = () => {
    const other = others.find(isOpen);
    if (!other) return null;
    const decide = keepsIt => {
      replaces.push(other.version);
      if (keepsIt) work = {...fromDraft(other), at: work.at, read: work.read, attempt: work.attempt};
      save();
      store();
      draw();
    };
    return el('div', {class: 'notice', role: 'alert'}, el('p', {}, `Typed on ${other.place || 'another surface'}${other.saved_ms ? `, ${clock(other.saved_ms)}` : ''}:`),
      wordsOf(other).map(text => el('p', {}, text)), el('div', {class: 'actions'},
        el('button', {type: 'button', onclick: () => decide(true)}, 'Keep it'), el('button', {type: 'button', onclick: () => decide(false)}, 'Use mine')));
  };
  const drawRival = () => box.querySelector('#rival')?.replaceChildren(...[rival()].filter(Boolean));

  // -- sending: an answer waits for a connection, a permission never does --
  const cleared = () => ({answers: [], version: {writer, edit: edit + 2}, replaces});
  const send = async (path, body) => {
    if (isSending()) return;
    clearTimeout(saving);
    const pending = {path, body, attempt: work.attempt, cleared: cleared()};
    if (!pageOf().agreed && !pageOf().exact && kept.set(`sending.${id}`, pending)) {
      draw();
      outbox.deliver();
      return outbox.kick();
    }
    inFlight = true;
    draw();
    const reply = await post(id, pending).catch(() => null);
    inFlight = false;
    if (reply?.status < 300) forgetDraft(id, pending.cleared);
    if (reply) return sent(reply);
    draw('No reply. It is not kept for later: send it again once there is a connection.');
    load();
  };
  const sent = async reply => {
    if (!reply) draw('No reply yet. It is sent again until there is one; sending twice is safe.');
    else if (reply.status < 300) {
      work.sent = true;
      changed = false;
      edit += 2;
      await load();
      say('Sent');
    } else if (reply.status === 409 || reply.status === 410) { await load(); say('It was already decided.'); } else {
      work.attempt = random();
      draw(failure(reply), reply.body?.error?.violations);
    }
  };
  const takeBack = () => { outbox.takeBack(id); work.attempt = random(); save(); draw(); load(); };

  // -- drawing --
  const isDone = done => done.picks.length > 0 || (done.isOther && done.other.trim() !== '');
  const last = () => pageOf().questions.length > 1 ? pageOf().questions.length : 0;
  const go = at => { work.at = at; draw(); box.querySelector('h1, h2, legend')?.focus?.(); box.querySelector('input, button.main')?.focus({preventScroll: true}); };

  /** The texts that a key shows in full: `o` for the model's reason, `v` for the input of a tool. */
  const opened = new Set();
  const open = key => {
    if (opened.has(key)) opened.delete(key); else opened.add(key);
    draw();
  };
  const toggle = (key, label) => el('button', {type: 'button', 'aria-expanded': String(opened.has(key)), onclick: () => open(key)}, label);
  const why = () => {
    const said = pageOf().why;
    if (!said) return null;
    const name = 'The agent’s words before it asked';
    return el('div', {}, el('h2', {}, name), el('section', {class: `pane why${opened.has('o') ? ' whole' : ''}`, tabindex: '0', 'aria-label': name}, rows(said)),
      toggle('o', opened.has('o') ? 'Show less' : 'Show all'));
  };
  const part = ({rows: prose, lines}) => prose ? el('div', {}, rows(prose))
    : el('pre', {class: 'exact'}, lines.map(({text, says, number}) => el('span', {class: says, 'data-line': number}, text)));
  const context = () => {
    const {context: about, input, agreed} = pageOf();
    if (!about) return null;
    const names = {command: 'Command', diff: 'Change', tool_input: 'Input of the tool', prose: agreed ? 'Plan' : 'Context'};
    const name = names[about[0].kind] ?? 'Context';
    const pane = el('section', {class: `pane${agreed ? ' agreed' : ''}`, tabindex: '0', 'aria-label': name}, about.map(part));
    return el('div', {}, el('h2', {}, name), pane, input && toggle('v', opened.has('v') ? 'Hide the input' : 'Show the input as JSON'),
      input && opened.has('v') && el('pre', {class: 'pane exact', tabindex: '0', 'aria-label': 'Input as JSON'}, input));
  };

  // -- reading: no option can be chosen before all parts of the text to agree to were on the screen --
  const OVERLAP = 24;
  const isUnread = () => pageOf().agreed && !work.read;
  /** Records how far the text was on the screen, in pixels from its beginning. Skipped parts do not count. */
  const noteSeen = () => {
    const text = box.querySelector('.agreed');
    if (!text || work.read || document.hidden) return;
    const {top, bottom, width} = text.getBoundingClientRect();
    // Another width wraps the text into other lines.
    if (work.width !== width) Object.assign(work, {width, seen: 0});
    const [from, to] = [Math.max(top, 0), Math.min(bottom, innerHeight)].map(y => y - top + text.scrollTop);
    if (from <= work.seen + 1) work.seen = Math.max(work.seen, to);
    work.read = text.scrollHeight > 0 && work.seen + 1 >= text.scrollHeight;
    if (!work.read) return;
    refreshOptions();
    if ($('said').textContent === READ_FIRST) say('');
  };
  const readOn = () => {
    const text = box.querySelector('.agreed');
    if (!text) return;
    text.scrollTop = work.seen - OVERLAP;
    if (text.scrollHeight > text.clientHeight + 1) text.scrollIntoView({block: 'nearest'});
    else scrollBy(0, text.getBoundingClientRect().top + work.seen - OVERLAP);
  };
  const refreshOptions = () => {
    for (const input of box.querySelectorAll('[data-at]')) input.removeAttribute('aria-disabled');
    const hint = box.querySelector('#read-on');
    if (hint) hint.hidden = true;
  };
  const off = new AbortController();
  box.addEventListener('scroll', noteSeen, {capture: true});
  for (const name of ['scroll', 'resize', 'visibilitychange']) addEventListener(name, noteSeen, {signal: off.signal});

  const noteField = (done, label, name) => {
    if (!pageOf().takes_notes) return null;
    const hint = pageOf().note_hint;
    const text = done.notes.get(label) ?? '';
    const field = el('textarea', {'aria-label': `Note on ${name}`, maxlength: pageOf().typed_max, 'data-note': label, rows: 2});
    field.value = text;
    const area = el('div', {class: 'under', hidden: !text}, field, hint && el('p', {class: 'muted'}, hint));
    const add = el('button', {type: 'button', hidden: Boolean(text), 'data-add-note': label, 'aria-label': `Add a note on ${name}`}, 'Add a note');
    add.addEventListener('click', () => { area.hidden = false; add.hidden = true; field.focus(); });
    field.addEventListener('input', () => { done.notes.set(label, field.value); save(); });
    return el('div', {class: 'notes'}, el('div', {class: 'under'}, add), area);
  };

  const options = (asked, done) => {
    const kind = asked.multi ? 'checkbox' : 'radio';
    const name = `q${work.at}`;
    const fields = asked.options.map((option, at) => {
      const input = el('input', {type: kind, name, value: option.label, 'data-at': at, 'aria-describedby': option.rows ? `about-${at}` : null});
      input.checked = done.picks.includes(option.label);
      if (isUnread()) input.setAttribute('aria-disabled', 'true');
      input.addEventListener('click', event => {
        if (isUnread()) { event.preventDefault(); say(READ_FIRST); }
      });
      input.addEventListener('change', () => {
        if (isUnread()) { input.checked = false; return; }
        if (asked.multi) done.picks = asked.options.map(other => other.label).filter(label => label === option.label ? input.checked : done.picks.includes(label));
        else { done.picks = [option.label]; done.isOther = false; }
        save();
        draw();
        box.querySelector(`[data-at="${at}"]`)?.focus({preventScroll: true});
      });
      return [el('label', {class: 'option'}, input,
        el('span', {class: 'label'}, option.name, ' ', option.recommended && el('span', {class: 'chip'}, 'Recommended')),
        option.rows && el('span', {class: 'about', id: `about-${at}`}, rows(option.rows)),
        option.preview && el('span', {class: 'about'}, el('div', {class: 'pane', tabindex: '0', role: 'group', 'aria-label': `Preview of ${option.name}`}, rows(option.preview)))),
      input.checked && noteField(done, option.label, option.name)];
    });
    if (asked.options.length > SEARCHED) {
      const search = el('input', {type: 'search', 'aria-label': 'Search the options', placeholder: 'Search', autocomplete: 'off'});
      const labels = () => [...box.querySelectorAll('.option')];
      search.addEventListener('input', () => {
        const words = search.value.toLowerCase().split(/\s+/);
        labels().forEach(label => { label.hidden = !words.every(word => label.textContent.toLowerCase().includes(word)) && !label.querySelector('input').checked; });
      });
      fields.unshift(search);
    }
    // The question asks for a text only.
    if (asked.other && !asked.options.length) {
      const text = el('textarea', {'aria-label': asked.text, maxlength: pageOf().typed_max, rows: 2, id: 'other'});
      text.value = done.other;
      text.addEventListener('input', () => { done.other = text.value; done.isOther = text.value.trim() !== ''; save(); ready(); });
      return [text, done.notes.get('') && noteField(done, '', 'your answer')];
    }
    if (asked.other) {
      const input = el('input', {type: kind, name, value: '', 'data-other': true});
      input.checked = done.isOther;
      const text = el('textarea', {'aria-label': 'Your own answer', maxlength: pageOf().typed_max, rows: 2, id: 'other'});
      text.value = done.other;
      input.addEventListener('change', () => {
        done.isOther = input.checked;
        if (!asked.multi) done.picks = [];
        save();
        draw();
        if (done.isOther) box.querySelector('#other')?.focus();
      });
      text.addEventListener('input', () => { done.other = text.value; save(); ready(); });
      fields.push([el('label', {class: 'option'}, input, el('span', {class: 'label'}, 'Other'), el('span', {class: 'about'}, 'Your own words')),
        done.isOther && [el('div', {class: 'under'}, text), noteField(done, '', 'your own answer')]]);
    }
    return fields;
  };

  const mainButton = () => {
    const asked = pageOf().questions;
    const button = el('button', {type: 'submit', class: 'main'});
    const several = asked.length > 1;
    button.textContent = isSending() ? 'Sending…' : several && work.at < asked.length ? (work.at + 1 < asked.length ? 'Next' : 'Review') : 'Send';
    return button;
  };
  const ready = () => {
    const button = box.querySelector('button.main[type=submit]');
    if (!button) return;
    const all = pageOf().questions.length === 1 || work.at === last() ? work.answers.every(isDone) : true;
    if (all && !isSending()) button.removeAttribute('aria-disabled'); else button.setAttribute('aria-disabled', 'true');
  };

  const submit = event => {
    event.preventDefault();
    if (isSending() || question.state !== 'pending') return;
    const asked = pageOf().questions;
    if (asked.length > 1 && work.at < asked.length) return go(work.at + 1);
    const open = work.answers.findIndex(done => !isDone(done));
    if (open >= 0) {
      say(asked.length > 1 ? `${asked[open].header} is not answered yet.` : 'Choose an answer first.');
      if (asked.length > 1) go(open);
      return;
    }
    // A draft may have picked an option before the text was read.
    if (isUnread() && work.answers.some(done => done.picks.length)) return say(READ_FIRST);
    send('answer', {status: 'answered', answers: asked.map((one, i) => answerOf(one, work.answers[i]))});
  };

  /** Returns the form to decline or to discuss first. It needs a second tap, so that one stray tap does neither. */
  const aside = (kind, title, field, button, path) => {
    if (work[kind] === null) return null;
    const text = el('textarea', {id: kind, 'aria-label': field, maxlength: pageOf().typed_max});
    text.value = work[kind];
    text.addEventListener('input', () => { work[kind] = text.value; save(); });
    return el('section', {}, el('h1', {}, title), pageOf().questions.map(asked => el('p', {class: 'muted'}, asked.text)), text, el('div', {class: 'actions'},
      el('button', {type: 'button', class: 'main', 'aria-disabled': isSending() && 'true', onclick: () => send(path, kind === 'decline' ? {reason: work.decline || undefined} : {message: work.discuss || undefined})}, button),
      !isSending() && el('button', {type: 'button', onclick: () => { work[kind] = null; save(); draw(); }}, 'Back')));
  };
  const begin = kind => { work[kind] ??= ''; save(); draw(); box.querySelector(`#${kind}`)?.focus(); };

  const review = () => el('div', {}, el('h1', {tabindex: '-1'}, 'Check your answers'), pageOf().questions.map((asked, i) => {
    const done = work.answers[i];
    const given = answerOf(asked, done);
    return el('section', {}, el('h2', {}, asked.header), el('p', {class: 'muted'}, asked.text),
      el('div', {class: 'answer'}, isDone(done)
        ? [...done.picks.map(label => asked.options.find(option => option.label === label).name), ...(given.customInput ? [given.customInput] : [])].map(name => el('p', {}, name))
        : el('p', {class: 'muted'}, 'Not answered yet'),
      notesOf(done).filter(([, text]) => text.trim()).map(([, text]) => el('p', {class: 'muted'}, `Note: ${text}`)),
      el('button', {type: 'button', onclick: () => go(i), 'aria-label': `Change ${asked.header}`}, 'Change')));
  }));

  const ended = () => {
    const {resolution, state} = question;
    const drafts = [...(work && !work.sent ? [asDraft()] : []), ...others.filter(isOpen)].flatMap(wordsOf);
    const answers = resolution?.answers ?? [];
    const given = asked => answers.find(answer => answer.question === asked.verbatim);
    return [heading(), why(), context(),
      el('div', {class: `notice ${state === 'answered' && !question.page.not_run ? 'good' : ''}`}, el('h1', {tabindex: '-1'}, ending(question)),
        (resolution?.reason || resolution?.message) && el('p', {}, resolution.reason ?? resolution.message),
        pageOf().questions.map(asked => el('div', {}, el('h2', {}, el('span', {class: 'chip'}, asked.header), ' ', asked.text),
          el('div', {class: 'answer'}, given(asked) ? chosen(given(asked)).map(text => el('p', {}, text)) : el('p', {class: 'muted'}, 'Not answered'),
            given(asked)?.note && el('p', {class: 'muted'}, `Note: ${given(asked).note}`))))),
      drafts.length > 0 && el('div', {class: 'notice'}, el('p', {}, 'You had not sent:'), drafts.map(text => el('p', {}, text))),
      el('p', {}, el('a', {href: '#/', class: 'button'}, 'Back to the list'))];
  };

  /** Returns the view of a question for others, which can only be read. */
  const forOthers = () => [heading(),
    el('div', {class: 'notice'}, el('h1', {tabindex: '-1'}, `This question is for ${pageOf().for}`),
      el('p', {}, 'You can read it here, but only they can answer it.')),
    why(), context(),
    pageOf().questions.map(asked => el('section', {}, el('h2', {}, el('span', {class: 'chip'}, asked.header)), rows(asked.rows),
      el('ul', {}, asked.options.map(option => el('li', {}, option.name, option.rows && rows(option.rows)))))),
    el('p', {}, el('a', {href: '#/', class: 'button'}, 'Back to the list'))].flat();

  const heading = () => el('p', {class: 'list'}, facts(question));
  const deadline = () => {
    if (!question.expires_ms) return null;
    const left = Math.max(0, Math.round((question.expires_ms - Date.now() - skew) / 1000));
    return el('p', {class: 'muted', id: 'deadline'}, `Ends unanswered in ${left > 90 ? `${Math.round(left / 60)} min` : `${left} s`}. No option is chosen for you.`);
  };

  const draw = (problem, violations) => {
    if (!question) return;
    const scrolled = scrollY;
    const places = [...box.querySelectorAll('.pane')].map(pane => [pane.ariaLabel, pane.scrollTop]);
    if (question.state !== 'pending') box.replaceChildren(...ended().filter(Boolean));
    else if (!isMine()) box.replaceChildren(...forOthers().filter(Boolean));
    else {
      const asked = pageOf().questions;
      const several = asked.length > 1;
      const apart = aside('decline', several ? 'Decline these questions?' : 'Decline?', 'Reason, if you like', 'Decline', 'decline')
        ?? aside('discuss', 'Talk about it first', 'What you want to say', 'Send', 'discuss');
      const one = asked[work.at];
      // A list or code is no heading, so it is shown below the header.
      const isPlain = one?.rows.every(line => line.kind === 'prose' && !line.marker && !line.quotes);
      const words = isPlain && one.rows.flatMap((line, i) => [i > 0 && el('br'), ...pieces(line.pieces)]);
      // Without a context, the person agrees to the question itself.
      const agreed = pageOf().agreed && !pageOf().context ? 'agreed' : null;
      const body = apart ?? (one ? el('fieldset', {disabled: isSending()}, el('legend', {class: isPlain ? agreed : null}, el('h1', {tabindex: '-1'},
        el('span', {class: 'chip'}, one.header), ' ', el('span', {class: pageOf().exact ? 'exact' : null}, words || []))), !isPlain && el('div', {class: agreed}, rows(one.rows)),
      pageOf().agreed && el('p', {class: 'muted', id: 'read-on', hidden: work.read}, 'You can choose once you have seen all of it. ', el('button', {type: 'button', onclick: readOn}, 'Read on')),
      options(one, work.answers[work.at])) : review());
      // A browser that restores forms after a reload does not know the draft.
      const form = el('form', {onsubmit: submit, autocomplete: 'off'}, el('div', {id: 'rival'}, rival()),
        several && el('progress', {max: asked.length, value: Math.min(work.at + 1, asked.length), 'aria-label': 'Progress'}),
        several && one && el('p', {class: 'muted'}, `Question ${work.at + 1} of ${asked.length}`),
        body,
        !apart && el('div', {class: 'actions'}, several && work.at > 0 && el('button', {type: 'button', onclick: () => go(work.at - 1)}, 'Back'), mainButton()),
        outbox.has(id) && outbox.failed.has(id) && el('div', {class: 'actions'}, el('button', {type: 'button', onclick: takeBack}, 'Take it back')),
        problem && el('div', {class: 'notice bad', role: 'alert'}, el('p', {}, problem), (violations ?? []).map(fault => el('p', {}, `${fault.path}: ${fault.fact}, ${fault.limit}`))),
        !apart && !isSending() && el('div', {class: 'actions'},
          el('button', {type: 'button', onclick: () => begin('discuss')}, 'Talk first'),
          el('button', {type: 'button', onclick: () => begin('decline')}, 'Decline'),
          el('a', {class: 'button', href: '#/'}, 'Put aside')), isSending() && el('div', {class: 'actions'}, el('a', {class: 'button', href: '#/'}, 'Back to the list')));
      const about = context();
      box.replaceChildren(el('div', {class: about ? 'wide' : null}, el('div', {}, heading(), deadline(), why(), about), form));
      ready();
    }
    // A reason that is fully visible needs no button.
    for (const pane of box.querySelectorAll('.why:not(.whole)')) pane.nextSibling.hidden = pane.scrollHeight <= pane.clientHeight;
    for (const [name, top] of places) {
      const pane = [...box.querySelectorAll('.pane')].find(pane => pane.ariaLabel === name);
      if (pane && top) pane.scrollTop = top;
    }
    scrollTo(0, scrolled);
    requestAnimationFrame(noteSeen);
  };

  // One load runs at a time. A second one could replace the text that the person has begun to type by an empty draft.
  let loading = null;
  let again = false;
  const load = () => {
    again = true;
    loading ??= (async () => {
      while (again) {
        again = false;
        await look();
      }
    })().finally(() => { loading = null; });
    return loading;
  };
  const look = async () => {
    let reply;
    try { reply = await call('GET', `/questions/${id}?view=page`); } catch {
      if (question || !known.has(id)) return;
      reply = {status: 200, body: known.get(id)};
    }
    if (closed) return;
    if (reply.status !== 200) {
      box.replaceChildren(el('p', {class: 'notice bad'}, failure(reply)), el('p', {}, el('a', {href: '#/'}, 'Back to the list')));
      return;
    }
    const was = question?.state;
    question = reply.body;
    if (!work) {
      let drafts = [];
      try {
        await flushDrafts();
        const {status, body} = isMine() ? await call('GET', `/questions/${id}/draft`) : {};
        if (status === 200) drafts = body.drafts;
      } catch { /* said by the connection */ }
      // A draft that this browser could not save is newer than the store's drafts.
      const [name] = kept.names(`draft.${id}.`);
      const own = name && kept.get(name);
      work = fromDraft(own?.body ?? drafts[0]);
      if (own) {
        work.attempt = own.attempt;
        // The draft includes an earlier draft of the same page.
        const [earlier, rest] = [true, false].map(is => drafts.filter(({version}) => (version.writer === own.body.version.writer) === is));
        replaces = [own.body.version, ...earlier.map(({version}) => version), ...own.body.replaces];
        others = rest;
        changed = true;
        keep();
        kept.set(name, null);
        store();
      } else {
        replaces = drafts.slice(0, 1).map(draft => draft.version);
        others = drafts.slice(1);
      }
      const pending = kept.get(`sending.${id}`);
      if (pending) {
        work.attempt = pending.attempt;
        kept.set(`sending.${id}`, {...pending, cleared: cleared()});
      }
    }
    if (was === undefined || was !== question.state) {
      draw();
      if (was === 'pending' && question.state !== 'pending') say(`It ended: ${outcome(question)}`);
    } else if (question.state === 'pending') box.querySelector('.facts')?.replaceWith(facts(question));
  };
  const timer = setInterval(() => { const node = box.querySelector('#deadline'); if (node) node.replaceWith(...[deadline()].filter(Boolean)); }, 1000);

  return {
    nodes: [box],
    writer,
    start: load,
    changed: which => { if (which === null || which === id) load(); },
    // A phone may end a hidden page, so the draft is saved first.
    store: () => { if (work && question?.state === 'pending' && !isSending()) store(); },
    sent: (which, reply) => { if (which === id && work) sent(reply); },
    leave: () => {
      const stored = work && question?.state === 'pending' && !isSending() ? store() : null;
      closed = true;
      clearInterval(timer);
      off.abort();
      return stored;
    },
    key: event => {
      if (!question || question.state !== 'pending' || isSending() || !isMine()) {
        if (event.key === 'Escape') { location.hash = '#/'; return true; }
        return false;
      }
      if ((event.key === 'o' && pageOf().why) || (event.key === 'v' && pageOf().input)) { open(event.key); return true; }
      const inputs = [...box.querySelectorAll('[data-at], [data-other]')];
      const at = inputs.indexOf(document.activeElement);
      if (event.key === 'Escape') {
        if (work.decline !== null || work.discuss !== null) { work.decline = null; work.discuss = null; save(); draw(); } else location.hash = '#/';
        return true;
      }
      if (event.key === ' ' && isUnread() && !event.target.closest('button, a')) { readOn(); return true; }
      if (/^[1-9]$/.test(event.key) && inputs[event.key - 1]) { inputs[event.key - 1].focus(); inputs[event.key - 1].click(); return true; }
      if (event.key === 'j' || event.key === 'k') { inputs[(at + (event.key === 'j' ? 1 : inputs.length - 1)) % inputs.length]?.focus(); return true; }
      if (event.key === 'Enter' && at >= 0) { if (!inputs[at].checked) inputs[at].click(); else box.querySelector('form').requestSubmit(); return true; }
      if (event.key === 'ArrowLeft' && work.at > 0 && at < 0) { go(work.at - 1); return true; }
      if (event.key === 'ArrowRight' && work.at < last() && at < 0) { go(work.at + 1); return true; }
      if (event.key === 'n') { box.querySelector('[data-add-note]:not([hidden]), [data-note]')?.click(); box.querySelector('[data-note]')?.focus(); return true; }
      if (event.key === 'c') { begin('discuss'); return true; }
      if (event.key === 'd') { begin('decline'); return true; }
      return false;
    },
  };
};

// ---- pairing ----

const browserName = () => {
  const agent = navigator.userAgent;
  const browser = /Edg\//.test(agent) ? 'Edge' : /Firefox\//.test(agent) ? 'Firefox' : /Chrome\//.test(agent) ? 'Chrome' : /Safari\//.test(agent) ? 'Safari' : 'Browser';
  const system = /iPhone|iPad/.test(agent) ? 'iOS' : /Android/.test(agent) ? 'Android' : /Mac OS/.test(agent) ? 'macOS' : /Windows/.test(agent) ? 'Windows' : /Linux/.test(agent) ? 'Linux' : '';
  return [browser, system].filter(Boolean).join(' on ');
};

const paired = async body => {
  const left = view;
  view = {};
  await left.leave?.();
  history.replaceState(null, '', '#/');
  adopt(body.token);
};

const pairView = problem => {
  const box = el('div');
  let closed = false;
  const draw = (...nodes) => box.replaceChildren(el('h1', {}, 'Let this browser answer'), ...nodes.filter(Boolean));
  const ask = async () => {
    draw(problem && el('p', {class: 'notice bad'}, problem), el('p', {}, 'Asking for a code…'));
    try {
      const {status, body} = await call('POST', '/pair/code', {body: {name: browserName()}});
      if (status >= 300) throw new Error(failure({status, body}));
      draw(problem && el('p', {class: 'notice bad'}, problem),
        el('p', {}, 'On the computer where askuser runs, type:'), el('p', {class: 'code-big'}, body.code),
        el('pre', {class: 'exact'}, `askuser pair ${body.code}`),
        el('p', {class: 'muted'}, 'Or open the link that “askuser serve” prints. The code is good for five minutes.'));
      while (!closed) {
        await pause(1500);
        const state = await call('POST', '/pair/claim', {body: {code: body.code, secret: body.secret, name: browserName()}});
        if (state.status === 200 && state.body?.token) return paired(state.body);
        if (state.status >= 400) { problem = failure(state); return ask(); }
      }
    } catch (error) {
      if (closed) return;
      draw(el('p', {class: 'notice bad'}, String(error.message ?? error)), el('button', {type: 'button', class: 'main', onclick: ask}, 'Try again'));
    }
  };
  return {nodes: [box], start: ask, leave: () => { closed = true; }};
};

/** Asks whether a browser that answers for one person should answer for another one. */
const switchView = (code, mine, theirs) => ({nodes: [el('h1', {tabindex: '-1'}, `Answer as ${theirs} from now on?`),
  el('p', {}, `This browser answers as ${mine}. The link is for ${theirs}.`), el('p', {}, `What ${mine} typed here and has not sent is removed from this browser.`),
  el('div', {class: 'actions'}, el('button', {type: 'button', class: 'main', onclick: () => redeem(code)}, `Answer as ${theirs}`),
    el('button', {type: 'button', onclick: show}, `Stay ${mine}`))]});

const redeem = async code => {
  try {
    const {status, body} = await call('POST', '/pair', {body: {code, name: browserName()}});
    if (status < 300 && body?.token) return paired(body);
    throw new Error(failure({status, body}));
  } catch (error) { unpairable(error); }
};
const unpairable = error => {
  if (!kept.token) return enter(pairView(error.message));
  enter({nodes: [el('p', {class: 'notice bad', role: 'alert'}, error.message), el('p', {}, el('a', {href: '#/'}, 'Back to the list'))]});
};

const exchange = async code => {
  try {
    const me = kept.token && (await call('GET', '/me')).body;
    // The code must not stay in the address bar or in the history.
    history.replaceState(null, '', '#/');
    if (!me) return redeem(code);
    const link = await call('POST', '/pair/person', {body: {code}});
    if (link.status >= 300) throw new Error(failure(link));
    if (link.body.person !== me.person) return enter(switchView(code, me.person, link.body.person));
    show();
    say(`This browser answers as ${me.person} already.`);
  } catch (error) { unpairable(error); }
};

// ---- views ----

let view = {};
const enter = next => {
  view.leave?.();
  view = next;
  main.replaceChildren(...next.nodes);
  main.focus({preventScroll: true});
  scrollTo(0, 0);
  next.start?.();
};

const show = () => {
  const [, code] = /^#pair=([\w.-]+)$/.exec(location.hash) ?? [];
  if (code) return exchange(code);
  offerNotifications();
  if (!kept.token) return enter(pairView());
  lead();
  outbox.deliver();
  const [, id] = /^#\/q\/([0-9a-f]{12,32})$/.exec(location.hash) ?? [];
  for (const [name, at] of [['to-list', location.hash === '' || location.hash === '#/'], ['to-history', location.hash === '#/history']]) {
    if (at) $(name).setAttribute('aria-current', 'page'); else $(name).removeAttribute('aria-current');
  }
  enter(id ? questionView(id) : listView(location.hash === '#/history' ? 'ended' : 'pending'));
  if (id || location.hash === '#/history') count();
};

const KEYS = [['j k, arrows', 'move'], ['1–9', 'open, or choose'], ['Space', 'read on; choose'], ['Enter', 'choose; then continue or send'], ['← →', 'earlier and later question'],
  ['n', 'note'], ['c', 'talk first'], ['d', 'decline'], ['/', 'filter'], ['Esc', 'put aside'], ['?', 'these keys']];
$('keys').querySelector('dl').append(...KEYS.flatMap(([key, does]) => [el('dt', {}, key), el('dd', {}, does)]));

addEventListener('hashchange', show);
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || $('keys').open) return;
  const typing = event.target.matches?.('textarea, input[type=text], input[type=search]');
  if (typing) {
    if (event.key === 'Escape') { event.target.blur(); event.preventDefault(); }
    return;
  }
  if (event.key === '?') { $('keys').showModal(); event.preventDefault(); return; }
  if (view.key?.(event)) event.preventDefault();
});
addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') { wake(); changed(null); } else view.store?.(); });
addEventListener('online', () => { connection(true); wake(); outbox.kick(); changed(null); });
addEventListener('offline', () => connection(false));
show();
