// Journeys through the page. Each has a server, a store and browsers of its own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Stage, browser, database, option, question, two } from './stage.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const journeys = {};
const open = (page, id) => page.goto(`${new URL(page.url()).origin}/#/q/${id}`).then(() => page.locator('.option, .notice').first().waitFor());
const picture = (page, name) => page.screenshot({ path: `target/web/${name}.png` });
const state = async (stage, id, wanted) => {
  for (let tries = 0; tries < 100; tries += 1) {
    const stored = stage.stored(id);
    if (stored?.state === wanted) return stored;
    await new Promise(done => setTimeout(done, 50));
  }
  assert.equal(stage.stored(id)?.state, wanted);
};
const chosen = stored => stored.resolution.answers.map(answer => [...answer.selectedOptions, ...(answer.customInput ? [`"${answer.customInput}"`] : [])]);

const check = async (page, name) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html).join(' ')}`), [], name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  assert.equal(wide, false, `${name} scrolls sideways`);
};

const inBothColours = async (page, name) => {
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await check(page, `${name} ${colorScheme}`);
  }
};

journeys['a link lets one browser in, once, and leaves no code behind'] = async stage => {
  const link = stage.link;
  const page = await stage.device();
  assert.equal(new URL(page.url()).hash, '#/');
  const second = await stage.device({ paired: false });
  await second.goto(link);
  await second.locator('.notice.bad').waitFor();
};

journeys['a code on the page is let in from the terminal'] = async stage => {
  stage.link = null;
  const page = await stage.device();
  assert.match(stage.run('devices'), /Chrome on Linux/);
  await page.reload();
  await page.locator('#filter').waitFor();
};

const storedKeys = page => page.evaluate(() => Object.keys(localStorage).filter(key => key.startsWith('askuser.')));

journeys["what one person typed or sent offline is never sent as another person's"] = async stage => {
  stage.run('people', 'add', 'bob');
  const [sent, typed] = [stage.ask(database), stage.ask(two)];
  const page = await stage.device();
  await page.route(/\/(answer|draft)$/, route => (route.request().method() === 'GET' ? route.continue() : route.abort()));
  await open(page, sent);
  await page.getByText('SQLite').click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('[role=alert]').waitFor();
  await open(page, typed);
  await page.getByText('SQLite').click();
  const id = (await page.evaluate(() => localStorage.getItem('askuser.token'))).split('_')[1];
  const keys = (await storedKeys(page)).filter(key => key !== 'askuser.token');
  assert.ok(keys.length >= 2 && keys.every(key => key.startsWith(`askuser.${id}.`)), `${keys}`);
  stage.run('devices', 'revoke', 'Chrome on Linux');
  const code = await page.locator('.code-big').textContent();
  assert.deepEqual(await storedKeys(page), [], 'it goes with the token');
  await page.unroute(/\/(answer|draft)$/);
  await stage.letIn(code, '--person', 'bob');
  await page.locator('#filter').waitFor();
  for (const question of [sent, typed]) {
    await open(page, question);
    assert.equal(await page.locator('input:checked').count(), 0);
  }
  await page.waitForTimeout(1000);
  for (const question of [sent, typed]) assert.equal(stage.stored(question).state, 'pending');
};

journeys['a link for another person asks first in a paired browser; one for the same person does nothing'] = async stage => {
  const [id, bobs] = [stage.ask(database), await stage.linkFor('bob')];
  const page = await stage.device();
  const me = () => page.evaluate(async () => (await (await fetch('/api/v1/me', { headers: { 'X-Askuser': '1', Authorization: `Bearer ${JSON.parse(localStorage.getItem('askuser.token'))}` } })).json()).person);
  const other = await page.context().newPage();
  await other.goto(stage.origin);
  await open(other, id);
  await other.getByText('SQLite').click();
  await page.goto(await stage.linkFor('ada'));
  await page.locator('#filter').waitFor();
  assert.equal(stage.run('devices').trim().split('\n').length, 1, 'no other device');
  await page.goto(bobs);
  await page.getByRole('heading', { name: 'Answer as bob from now on?' }).waitFor();
  await inBothColours(page, 'a link for another person');
  await page.getByRole('button', { name: 'Stay ada' }).click();
  await page.locator('#filter').waitFor();
  assert.equal(await me(), 'ada');
  await page.goto(bobs);
  await page.getByRole('button', { name: 'Answer as bob' }).click();
  await page.locator('#filter').waitFor();
  await page.waitForFunction(() => location.hash === '#/');
  assert.equal(await me(), 'bob');
  // The other tab has loaded anew: what ada chose there is hers.
  await other.waitForFunction(() => document.querySelectorAll('.option input').length > 0 && document.querySelectorAll('.option input:checked').length === 0);
};

journeys['a note on an option of any name is sent'] = async stage => {
  const names = ['__proto__', 'constructor'];
  const id = stage.ask({ questions: [question('Names', 'Which names?', names.map(name => option(name)), { multiSelect: true })] });
  const page = await stage.device();
  await open(page, id);
  for (const name of names) {
    await page.locator(`.option:has(input[value="${name}"])`).click();
    await page.getByRole('button', { name: `Add a note on ${name}` }).click();
    await page.locator(`[data-note="${name}"]`).fill(`on ${name}`);
  }
  await page.waitForTimeout(700);
  await page.reload();
  await page.locator('[data-note=__proto__]').waitFor();
  await page.getByRole('button', { name: 'Send' }).click();
  const stored = await state(stage, id, 'answered');
  assert.deepEqual(stored.resolution.answers[0].notes, names.map(name => ({ option: name, text: `on ${name}` })));
};

journeys['answers one question'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await page.locator('.list a').click();
  await page.getByText('SQLite').click();
  assert.equal(stage.stored(id).state, 'pending', 'one tap sends nothing');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('main').getByText('Answered by').waitFor();
  const stored = await state(stage, id, 'answered');
  assert.deepEqual(chosen(stored), [['SQLite']]);
  assert.equal(stored.resolution.via, 'web');
};

journeys['what is for others comes last, is read, and cannot be answered'] = async stage => {
  stage.run('people', 'add', 'bob');
  const bobs = stage.ask(database, '--for', 'bob');
  const mine = stage.ask(two, '--for', 'ada,bob');
  const page = await stage.device();
  await page.getByRole('heading', { name: 'For others' }).waitFor();
  const rows = await page.locator('.list a').evaluateAll(links => links.map(link => [link.hash, link.textContent.includes('for bob')]));
  assert.deepEqual(rows, [[`#/q/${mine}`, false], [`#/q/${bobs}`, true]], 'mine first');
  await page.getByText('for ada, bob').waitFor();
  assert.equal(await page.title(), '(1) askuser', 'what waits for me');
  await inBothColours(page, 'a list with what is for others');
  await page.locator('.list a').nth(1).click();
  await page.getByRole('heading', { name: 'This question is for bob' }).waitFor();
  await page.getByText('only they can answer it').waitFor();
  await page.getByText('PostgreSQL').waitFor();
  assert.equal(await page.locator('main form, main input, main textarea').count(), 0, 'there is nothing to answer with');
  await page.keyboard.press('1');
  await page.keyboard.press('d');
  await inBothColours(page, 'a question for others');
  await picture(page, 'for-others');
  await page.keyboard.press('Escape');
  await page.locator('.list a').first().click();
  await page.locator('.option').first().waitFor();
  assert.equal(stage.stored(bobs).state, 'pending');
};

journeys['answers with the keyboard alone, Other, several choices, a note and a review'] = async stage => {
  const id = stage.ask(two);
  const page = await stage.device();
  await page.locator('.list a').waitFor();
  await page.keyboard.press('1');
  await page.locator('.option').first().waitFor();
  await page.keyboard.press('3');
  await page.locator('#other').waitFor();
  await page.keyboard.type('DuckDB, 2 <b>bold</b>');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  await page.getByText('Question 2 of 2').waitFor();
  await page.keyboard.press('1');
  await page.keyboard.press('2');
  await page.keyboard.press('n');
  await page.keyboard.type('only titles');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByText('Check your answers').waitFor();
  await inBothColours(page, 'review');
  await picture(page, 'review');
  await page.getByRole('button', { name: 'Send' }).click();
  const stored = await state(stage, id, 'answered');
  assert.deepEqual(chosen(stored), [['"DuckDB, 2 <b>bold</b>"'], ['Search', 'History']]);
  assert.match(JSON.stringify(stored.resolution.answers[1]), /only titles/);
};

journeys['declines with a reason, and talks first'] = async stage => {
  const [first, second] = [stage.ask(database), stage.ask(two)];
  const page = await stage.device();
  await open(page, first);
  await page.keyboard.press('d');
  await page.keyboard.type('not now');
  await inBothColours(page, 'declining');
  await page.getByRole('button', { name: 'Decline' }).click();
  assert.equal((await state(stage, first, 'declined')).resolution.reason, 'not now');
  await open(page, second);
  await page.keyboard.press('c');
  await page.keyboard.type('which load?');
  await inBothColours(page, 'talking first');
  await page.getByRole('button', { name: 'Send' }).click();
  assert.equal((await state(stage, second, 'discuss')).resolution.message, 'which load?');
};

journeys['an answer of 16,000 characters is kept as a draft and sent whole'] = async stage => {
  const id = stage.ask(database);
  const text = '0123456789abcde\n'.repeat(1000);
  const page = await stage.device();
  await open(page, id);
  await page.getByText('Other').click();
  await page.locator('#other').focus();
  await page.keyboard.insertText(text);
  assert.equal(await page.locator('#other').inputValue(), text);
  await page.goto(`${stage.origin}/#/`);
  const other = await stage.device();
  await open(other, id);
  await other.locator('#other').waitFor();
  assert.equal(await other.locator('#other').inputValue(), text);
  await other.getByRole('button', { name: 'Send' }).click();
  const stored = await state(stage, id, 'answered');
  assert.equal(stored.resolution.answers[0].customInput, text);
};

journeys['a draft goes to the next device'] = async stage => {
  const id = stage.ask(database);
  const desk = await stage.device();
  await open(desk, id);
  await desk.getByText('Other').click();
  await desk.locator('#other').fill('half an ans');
  await desk.goto(`${stage.origin}/#/`);
  const phone = await stage.device({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await open(phone, id);
  await phone.locator('#other').waitFor();
  assert.equal(await phone.locator('#other').inputValue(), 'half an ans');
};

journeys['answered at the shell while it is open: it closes and says by whom and what'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  stage.run('answer', id, '--select', 'Database=SQLite');
  await page.locator('main').getByText('Answered by ada').waitFor();
  assert.match(await page.locator('main').textContent(), /SQLite/);
};

journeys['a reply that is lost is asked for again, and counts once'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  // Only the reply can tell it: no event does.
  await page.route('**/events*', route => route.abort());
  await page.reload();
  await page.locator('#filter').waitFor();
  await open(page, id);
  await page.getByText('SQLite').click();
  let lost = 0;
  await page.route('**/answer', async route => {
    lost += 1;
    if (lost > 1) return route.continue();
    await route.fetch();
    return route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('main').getByText('Answered by').waitFor();
  assert.ok(lost >= 2);
  assert.equal((await state(stage, id, 'answered')).resolution.answers.length, 1);
};

journeys['the server is killed between request and reply: the page sends again when it is back'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  await page.getByText('SQLite').click();
  await stage.stop('SIGKILL');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('#connection').waitFor();
  await stage.serve();
  await page.locator('main').getByText('Answered by').waitFor();
  await state(stage, id, 'answered');
};

journeys['offline it keeps the draft and says so, and is live again afterwards'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  await page.context().setOffline(true);
  await page.getByText('Other').click();
  await page.locator('#other').fill('typed offline');
  await page.locator('#connection').waitFor();
  await inBothColours(page, 'offline');
  await page.context().setOffline(false);
  await page.locator('#connection').waitFor({ state: 'hidden' });
  await page.goto(`${stage.origin}/#/`);
  await page.reload();
  await open(page, id);
  assert.equal(await page.locator('#other').inputValue(), 'typed offline');
};

journeys['text typed on two devices and in a terminal is kept, and the person chooses'] = async stage => {
  const id = stage.ask(database);
  const [desk, phone] = [await stage.device(), await stage.device({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })];
  await open(desk, id);
  await open(phone, id);
  // Opened and left without typing, a device changes nothing.
  await desk.getByText('Other').click();
  await desk.locator('#other').fill('from the desk');
  await desk.waitForTimeout(900);
  await phone.goto(`${stage.origin}/#/`);
  await phone.locator('#filter').waitFor();
  const next = await stage.device();
  await open(next, id);
  assert.equal(await next.locator('#other').inputValue(), 'from the desk');
  // The phone types offline, while the desk goes on.
  await open(phone, id);
  await phone.locator('#other').waitFor();
  await phone.context().setOffline(true);
  await phone.locator('#other').fill('from the phone');
  await phone.locator('#connection').waitFor();
  await desk.locator('#other').fill('from the desk, later');
  await desk.waitForTimeout(900);
  const terminal = stage.terminal('answer', id);
  await terminal.shows('from the desk, later');
  await phone.context().setOffline(false);
  await phone.getByText('Database: from the desk, later').waitFor();
  await inBothColours(phone, 'two drafts');
  await picture(phone, 'two-drafts');
  await terminal.type('\r, at the terminal');
  await terminal.shows('Typed on ');
  await terminal.shows('from the phone');
  terminal.kill('SIGKILL');
  // The three of them are there at the next opening: the person keeps one.
  await next.reload();
  await next.getByRole('button', { name: 'Keep it' }).waitFor();
  const shown = async () => `${await next.locator('#other').inputValue()} ${await next.locator('#rival').textContent()}`;
  const first = await shown();
  assert.match(first, /from the phone/);
  assert.match(first, /from the desk, later, at the terminal/);
  const isPhones = /from the phone/.test(await next.locator('#rival').textContent());
  await next.getByRole('button', { name: isPhones ? 'Keep it' : 'Use mine' }).click();
  await next.waitForFunction(() => document.querySelector('#rival').childElementCount === 0);
  await next.waitForTimeout(900);
  await next.reload();
  await next.locator('#other').waitFor();
  assert.equal((await shown()).trim(), 'from the phone');
  await next.getByRole('button', { name: 'Send' }).click();
  assert.deepEqual(chosen(await state(stage, id, 'answered')), [['"from the phone"']]);
};

journeys['text typed offline is saved once a page of the browser is back, with its version'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  await page.context().setOffline(true);
  await page.getByText('Other').click();
  await page.locator('#other').fill('typed offline');
  await page.locator('#connection').waitFor();
  await page.evaluate(() => { location.hash = '#/'; });
  await page.locator('#filter').waitFor();
  await page.context().setOffline(false);
  await page.locator('#connection').waitFor({ state: 'hidden' });
  const phone = await stage.device();
  await open(phone, id);
  await phone.locator('#other').waitFor();
  assert.equal(await phone.locator('#other').inputValue(), 'typed offline');
};

const offline = (page, is) => page.context().setOffline(is);
const send = page => page.getByRole('button', { name: 'Send', exact: true }).click();

journeys['an answer sent offline is delivered from the list, which says so, once the connection is back'] = async stage => {
  const [id, other] = [stage.ask(database), stage.ask(two)];
  const page = await stage.device();
  await page.locator('.list a').first().click();
  await page.getByText('SQLite').click();
  await offline(page, true);
  await send(page);
  await page.getByText('No reply yet').waitFor();
  await inBothColours(page, 'an answer without a reply');
  await picture(page, 'sending');
  await page.getByRole('link', { name: 'Back to the list' }).click();
  await page.locator(`.list a[href="#/q/${id}"]`).getByText('sending…').waitFor();
  assert.equal(await page.getByText('sending…').count(), 1);
  await inBothColours(page, 'a list with an answer without a reply');
  // What the list has can be opened.
  await page.locator(`.list a[href="#/q/${other}"]`).click();
  await page.getByText('Which features?').or(page.getByText('Which database?')).first().waitFor();
  assert.equal(stage.stored(id).state, 'pending');
  await offline(page, false);
  await state(stage, id, 'answered');
  await page.goto(`${stage.origin}/#/`);
  await page.locator(`.list a[href="#/q/${id}"]`).waitFor({ state: 'detached' });
  await open(page, id);
  assert.doesNotMatch(await page.locator('main').textContent(), /had not sent/);
};

journeys['an answer without a reply outlives a reload, and another tab delivers it'] = async stage => {
  const [first, second] = [stage.ask(database), stage.ask(database)];
  const page = await stage.device();
  let isAway = true;
  await page.context().route('**/answer', route => (isAway ? route.abort() : route.continue()));
  await open(page, first);
  await page.getByText('SQLite').click();
  await send(page);
  await page.getByText('No reply yet').waitFor();
  await page.reload();
  await page.getByText('No reply yet').waitFor();
  assert.equal(await page.locator('[data-at="1"]').isChecked(), true, 'as it was sent');
  assert.equal(await page.locator('[data-at="1"]').isDisabled(), true, 'and cannot be changed meanwhile');
  const tab = await page.context().newPage();
  await tab.goto(stage.origin);
  await tab.getByText('sending…').waitFor();
  await page.close();
  isAway = false;
  await state(stage, first, 'answered');
  await tab.getByText('sending…').waitFor({ state: 'detached' });
  await open(tab, second);
  await tab.getByText('SQLite').click();
  await send(tab);
  await state(stage, second, 'answered');
};

journeys['an answer without a reply can be taken back, and nothing is sent'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  await page.getByText('SQLite').click();
  await offline(page, true);
  await send(page);
  await page.getByRole('button', { name: 'Take it back' }).click();
  await offline(page, false);
  await page.locator('#connection').waitFor({ state: 'hidden' });
  await page.waitForTimeout(1500);
  assert.equal(stage.stored(id).state, 'pending');
  assert.equal(await page.locator('[data-at="1"]').isChecked(), true, 'what was chosen is there');
  await page.getByText('PostgreSQL').click();
  await send(page);
  assert.deepEqual(chosen(await state(stage, id, 'answered')), [['PostgreSQL (Recommended)']]);
};

journeys['a permission is sent now or not at all'] = async stage => {
  const script = { turns: [{ text: 'I write.', calls: [{ name: 'Write', input: { path: 'a.txt', content: 'a' } }] }, { text: 'Done.' }] };
  const agent = stage.agent(script);
  const page = await stage.device();
  await page.locator('.list a').click();
  await page.locator('[data-at="0"]:not([aria-disabled])').waitFor();
  await page.getByText('Allow once').click();
  await offline(page, true);
  await send(page);
  await page.getByText('It is not kept for later').waitFor();
  assert.deepEqual((await storedKeys(page)).filter(key => key.includes('.sending.')), []);
  await offline(page, false);
  await page.locator('#connection').waitFor({ state: 'hidden' });
  await page.waitForTimeout(1500);
  const [waiting] = stage.run('inbox', '--json').trim().split('\n').map(line => JSON.parse(line));
  assert.equal(waiting.state, 'pending');
  await send(page);
  assert.equal(await agent, 0);
  assert.equal(stage.read('a.txt'), 'a');
};

journeys['a note is sent with the option where it was typed, and with no other'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  await page.getByText('SQLite').click();
  await page.getByRole('button', { name: 'Add a note on SQLite' }).click();
  await page.locator('[data-note="SQLite"]').fill('one file is enough');
  await page.getByText('PostgreSQL').click();
  assert.equal(await page.locator('[data-note="SQLite"]').count(), 0);
  await page.getByText('SQLite').click();
  assert.equal(await page.locator('[data-note="SQLite"]').inputValue(), 'one file is enough', 'it is not lost');
  await page.getByText('Other').click();
  await page.locator('#other').fill('DuckDB');
  await page.getByRole('button', { name: 'Add a note on your own answer' }).click();
  await page.locator('[data-note=""]').fill('it reads Parquet');
  await send(page);
  const [answer] = (await state(stage, id, 'answered')).resolution.answers;
  assert.deepEqual([answer.customInput, answer.note], ['DuckDB', 'it reads Parquet']);
  assert.doesNotMatch(JSON.stringify(answer), /one file/);
};

journeys['the button of notifications says what is true'] = async stage => {
  const page = await stage.device();
  const button = page.locator('#notify');
  const says = words => page.waitForFunction(words => document.querySelector('#notify').textContent === words, words);
  await says('Notify me');
  await button.click();
  await says('Sound only');
  await inBothColours(page, 'sound only');
  await button.click();
  await says('Notify me');
  await page.context().grantPermissions(['notifications']);
  await button.click();
  await says('Notifications on');
  await page.reload();
  await says('Notifications on');
};

journeys['an answer that is sent removes no text of another tab'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await open(page, id);
  const other = await page.context().newPage();
  await other.goto(`${stage.origin}/#/q/${id}`);
  await other.locator('.option').first().waitFor();
  await page.context().setOffline(true);
  await other.getByText('Other').click();
  await other.locator('#other').fill('typed in the other tab');
  await other.waitForTimeout(200);
  await other.close();
  await page.getByText('SQLite').click();
  await page.getByRole('button', { name: 'Send' }).click();
  // The answer arrives before any draft does.
  await page.context().route('**/draft', route => route.abort());
  await page.context().setOffline(false);
  await state(stage, id, 'answered');
  await page.locator('main').getByText('Answered by').waitFor();
  await page.context().unroute('**/draft');
  await page.reload();
  await page.locator('main').getByText('Answered by').waitFor();
  const phone = await stage.device();
  for (let i = 0; ; i += 1) {
    await open(phone, id);
    await phone.locator('main').getByText('Answered by').waitFor();
    const text = await phone.locator('main').textContent();
    assert.doesNotMatch(text, /not sent: *Database: SQLite/);
    if (/You had not sent:Database: typed in the other tab/.test(text)) return;
    assert.ok(i < 20, text);
    await phone.waitForTimeout(200);
    await phone.goto(`${stage.origin}/#/`);
    await phone.reload();
  }
};

journeys['a question that cannot be read is named in the list'] = async stage => {
  const [damaged, id] = [stage.ask(database), stage.ask(two)];
  const file = `${stage.home}/.local/state/askuser/inbox/inbox.sqlite`;
  execFileSync('python3', ['-c', 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("UPDATE question SET request = ? WHERE id = ?", ("{}", sys.argv[2])); db.commit()', file, damaged]);
  const page = await stage.device();
  await page.getByText(`question ${damaged} cannot be read`).waitFor();
  assert.equal(await page.locator('.list a').count(), 1);
  await inBothColours(page, 'a list with a question that cannot be read');
  await page.locator(`.list a[href="#/q/${id}"]`).waitFor();
};

journeys['a new question comes to an open list, and to the title'] = async stage => {
  const page = await stage.device();
  await page.getByText('Nothing waits for you').waitFor();
  await inBothColours(page, 'an empty list');
  await page.keyboard.press('?');
  await page.locator('#keys').waitFor();
  await inBothColours(page, 'keys');
  await page.keyboard.press('Escape');
  stage.ask(database);
  await page.locator('.list a').waitFor();
  await page.waitForFunction(() => document.title.startsWith('(1)'));
};

journeys['seven tabs stay live, with one stream'] = async stage => {
  const page = await stage.device();
  const tabs = [page];
  for (let i = 0; i < 6; i += 1) {
    const tab = await page.context().newPage();
    await tab.goto(stage.origin);
    await tab.locator('#filter').waitFor();
    tabs.push(tab);
  }
  const id = stage.ask(database);
  for (const tab of tabs) await tab.locator('.list a').waitFor();
  await open(tabs[6], id);
  await tabs[6].getByText('SQLite').click();
  await tabs[6].getByRole('button', { name: 'Send' }).click();
  for (const tab of tabs.slice(0, 6)) await tab.locator('.list a').waitFor({ state: 'detached' });
};

journeys['back leaves the question as a draft; a double click sends once'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  await page.locator('.list a').click();
  await page.getByText('SQLite').click();
  await page.goBack();
  await page.locator('#filter').waitFor();
  await page.locator('.list a').click();
  assert.equal(await page.locator('[data-at="1"]').isChecked(), true);
  await page.getByRole('button', { name: 'Send' }).dblclick();
  await page.locator('main').getByText('Answered by').waitFor();
  await state(stage, id, 'answered');
};

journeys['a device that is revoked while open is out at once'] = async stage => {
  const page = await stage.device();
  stage.ask(database);
  await page.locator('.list a').waitFor();
  stage.run('devices', 'revoke', 'Chrome on Linux');
  await page.locator('.code-big').waitFor();
};

journeys['a choice that is made while something changes is kept'] = async stage => {
  const id = stage.ask(database);
  const page = await stage.device();
  let read = 0;
  await page.route('**/draft', async route => {
    if (route.request().method() === 'GET' && (read += 1) > 1) await new Promise(done => setTimeout(done, 500));
    await route.continue();
  });
  await page.goto(`${stage.origin}/#/q/${id}`);
  await page.evaluate(() => { for (let i = 0; i < 5; i += 1) dispatchEvent(new Event('online')); });
  await page.getByText('SQLite').click();
  await new Promise(done => setTimeout(done, 800));
  await page.getByRole('button', { name: 'Send' }).click();
  await state(stage, id, 'answered');
};

journeys['a permission shows its diff whole, and is given once all of it was in view'] = async stage => {
  const lines = Array.from({ length: 120 }, (_, i) => `line ${i}`).join('\n');
  const script = { turns: [{ text: 'I write.', calls: [{ name: 'Write', input: { path: 'long.txt', content: lines } }] }, { text: 'Done.' }] };
  const agent = stage.agent(script);
  for (const colorScheme of ['light', 'dark']) {
    const looking = await stage.device({ colorScheme });
    for (const [width, height] of [[320, 568], [1280, 800]]) {
      await looking.setViewportSize({ width, height });
      await looking.goto(`${stage.origin}/#/`);
      await looking.locator('.list a').click();
      await looking.locator('.exact .added').first().waitFor();
      await check(looking, `permission ${width} ${colorScheme}`);
      await picture(looking, `permission-${width}-${colorScheme}`);
    }
  }
  const page = await stage.device();
  await page.locator('.list a').click();
  await page.locator('.exact .added').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show all' }).count(), 0, 'a short reason is whole');
  assert.equal(await page.locator('.exact .added').count(), 120);
  assert.equal(await page.locator('[data-at="0"]').getAttribute('aria-disabled'), 'true');
  await page.getByText('Allow once').click({ force: true });
  const isOpen = () => page.locator('[data-at="0"]:not([aria-disabled])').isVisible();
  assert.equal(await page.locator('[data-at="0"]').isChecked(), false, 'not before its end was seen');
  await picture(page, 'permission');
  await page.locator('.pane.agreed').evaluate(pane => { pane.scrollTop = pane.scrollHeight; });
  await page.waitForTimeout(300);
  assert.equal(await isOpen(), false, 'its end was in view, what is above it was not');
  await page.locator('.pane.agreed').evaluate(pane => { pane.scrollTop = 0; });
  let pages = 0;
  for (; pages < 40 && !await isOpen(); pages += 1) {
    for (const key of ['1', '3', 'Enter']) await page.keyboard.press(key);
    assert.equal(await page.locator('[data-at]:checked').count(), 0, 'digits and Enter choose nothing');
    const before = await page.locator('.pane.agreed').evaluate(pane => pane.scrollTop);
    await page.keyboard.press('Space');
    await page.waitForTimeout(100);
    const { after, height } = await page.locator('.pane.agreed').evaluate(pane => ({ after: pane.scrollTop, height: pane.clientHeight }));
    assert.ok(after > before && after - before <= height, `one page: ${before} ${after} ${height}`);
  }
  assert.ok(pages > 3 && pages < 40, `${pages} pages`);
  assert.equal(await page.locator('[data-at]:checked').count(), 0, 'to read on chooses nothing');
  assert.equal(await page.locator('#read-on').isVisible(), false);
  await page.getByText('Allow once').click();
  await page.getByRole('button', { name: 'Send' }).click();
  assert.equal(await agent, 0);
  assert.equal(stage.read('long.txt'), lines);
};

journeys["an edit of another agent shows its diff and its reason, and keys open both texts"] = async stage => {
  const why = `The loop sleeps too long.\n\n${'All clients come back at once, so I add jitter. '.repeat(20)}\n\nThen I run the tests.`;
  const input = { file_path: `${stage.home}/retry.rs`, old_string: '10', new_string: '5', reviewer: 'nobody' };
  const agent = stage.permission('Edit', input, why, { 'retry.rs': 'fn wait() {\n    sleep(10);\n}\n' });
  const title = 'Edit retry.rs (+1 −1)?';
  const phone = await stage.device({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await phone.getByText(title).waitFor();
  await picture(phone, 'edit-list-390');
  for (const colorScheme of ['light', 'dark']) {
    const page = await stage.device({ colorScheme });
    for (const [width, height] of [[390, 844], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      await page.goto(`${stage.origin}/#/`);
      await page.locator('.list a').click();
      await page.locator('.exact .added').first().waitFor();
      await check(page, `edit ${width} ${colorScheme}`);
      await picture(page, `edit-${width}-${colorScheme}`);
    }
    assert.deepEqual(await page.locator('.exact .added').allTextContents(), ['+    sleep(5);']);
    assert.equal(await page.getByText('reviewer').first().isVisible(), true, 'a field beside the diff');
    await page.getByRole('button', { name: 'Show all' }).waitFor();
    await page.keyboard.press('o');
    await page.getByText('Then I run the tests.').scrollIntoViewIfNeeded();
    assert.equal(await page.getByText(title).first().isVisible(), true, 'the question stays');
    await picture(page, `edit-why-${colorScheme}`);
    await page.keyboard.press('o');
    await page.keyboard.press('v');
    assert.match(await page.getByLabel('Input as JSON').textContent(), /"old_string": "10"/);
    await check(page, `edit input ${colorScheme}`);
    await picture(page, `edit-input-${colorScheme}`);
    await page.keyboard.press('v');
  }
  await phone.getByText(title).click();
  await phone.locator('.exact .added').first().waitFor();
  await picture(phone, 'edit-390');
  await phone.locator('[data-at="0"]:not([aria-disabled])').waitFor();
  await phone.getByText('Allow once').click();
  await phone.getByRole('button', { name: 'Send' }).click();
  assert.match(await agent, /"behavior":"allow"/);
};

journeys['a draft of an Allow whose text was not seen is not sent'] = async stage => {
  const command = Array.from({ length: 90 }, (_, i) => `echo ${i}`).join('\n');
  const agent = stage.agent({ turns: [{ calls: [{ name: 'Bash', input: { command: `${command}\ntouch ran` } }] }, { text: 'Done.' }] });
  const page = await stage.device();
  await page.locator('.list a').click();
  await page.locator('.exact').first().waitFor();
  const id = page.url().split('/').pop();
  // What another device of the same person had chosen.
  await page.evaluate(async id => {
    const token = JSON.parse(localStorage.getItem('askuser.token'));
    const headers = { 'X-Askuser': '1', Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const { page } = await (await fetch(`/api/v1/questions/${id}?view=page`, { headers })).json();
    const [asked] = page.questions;
    const answers = [{ question: asked.verbatim, header: asked.header_verbatim, selectedOptions: [asked.options[0].label] }];
    const saved = await fetch(`/api/v1/questions/${id}/draft`, { method: 'PUT', headers, body: JSON.stringify({ answers }) });
    if (!saved.ok) throw new Error(String(saved.status));
  }, id);
  await page.reload();
  await page.locator('[data-at="0"]:checked').waitFor();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.waitForTimeout(500);
  assert.equal(stage.stored(id).state, 'pending', 'the end of the command was never in view');
  for (let pages = 0; pages < 40 && await page.locator('#read-on').isVisible(); pages += 1) {
    await page.getByRole('button', { name: 'Read on' }).click();
    await page.waitForTimeout(100);
  }
  await page.getByRole('button', { name: 'Send' }).click();
  await state(stage, id, 'answered');
  assert.equal(await agent, 0);
  assert.equal(stage.read('ran'), '');
};

journeys['a deadline stops when somebody begins to answer'] = async stage => {
  const id = stage.ask(database, '--timeout', '10m');
  const page = await stage.device();
  await open(page, id);
  await page.locator('#deadline').waitFor();
  await page.getByText('SQLite').click();
  await page.locator('#deadline').waitFor({ state: 'detached' });
  assert.equal(stage.stored(id).expires_ms, undefined);
};

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>\u202e\u001b]0;x\u0007 [a](javascript:alert(1)) **b';
journeys['hostile text in every field is text'] = async stage => {
  const rude = { questions: [question('<b>x</b>', `${HOSTILE}?`, [option('<i>a</i>', HOSTILE.slice(0, 190), { preview: HOSTILE }), option('b', 'c')])] };
  const id = stage.ask(rude, '--repair');
  const page = await stage.device();
  await open(page, id);
  await picture(page, 'hostile');
  assert.equal(await page.locator('main img, main script, main b, main i, main a[href^="javascript"]').count(), 0);
  assert.match(await page.title(), /askuser$/);
  assert.doesNotMatch(await page.locator('main').textContent(), /[\u001b\u202e]/u);
};

journeys['phones, desks, light, dark and forced colours: nothing scrolls sideways, axe finds nothing'] = async stage => {
  const long = { questions: [question('Long', `${'Which of these very long words '.repeat(20)}${'x'.repeat(200)}?`,
    ['A', 'B', 'C', 'D'].map(letter => option(letter.repeat(50), `${letter.toLowerCase()} `.repeat(99))))] };
  const ids = [stage.ask(database), stage.ask(two), stage.ask(long)];
  stage.run('answer', ids[1], '--select', 'Database=SQLite', '--select', 'Features=Search');
  const sizes = [[320, 568], [360, 640], [390, 844], [640, 360], [1280, 800], [2560, 1440]];
  for (const colorScheme of ['light', 'dark']) {
    const page = await stage.device({ colorScheme });
    for (const [width, height] of sizes) {
      await page.setViewportSize({ width, height });
      for (const [name, hash] of [['list', '#/'], ['history', '#/history'], ['question', `#/q/${ids[0]}`], ['ended', `#/q/${ids[1]}`], ['long', `#/q/${ids[2]}`]]) {
        await page.goto(`${stage.origin}/${hash}`);
        await page.locator('.list a, .option, .notice').first().waitFor();
        await check(page, `${name} ${width} ${colorScheme}`);
        if ([320, 390, 1280].includes(width)) await picture(page, `${name}-${width}-${colorScheme}`);
      }
      const small = await page.locator('button:visible, .option:visible, .button:visible').evaluateAll(nodes => nodes.filter(node => node.getBoundingClientRect().height < 44).length);
      assert.equal(small, 0, 'targets of at least 44 px');
    }
    assert.deepEqual(page.faults, []);
  }
  const page = await stage.device({ forcedColors: 'active' });
  await open(page, ids[0]);
  await page.getByText('SQLite').click();
  await check(page, 'forced colours');
  await picture(page, 'forced');
  const stranger = await stage.device({ paired: false });
  await stranger.goto(stage.origin);
  await stranger.locator('.code-big').waitFor();
  await inBothColours(stranger, 'pairing');
};

journeys['a page on another port or under a rebinding name reads nothing, changes nothing and gets no credential'] = async stage => {
  const id = stage.ask(database);
  await stage.device();
  const heard = [];
  const server = createServer((request, response) => {
    heard.push({ url: request.url, authorization: request.headers.authorization, cookie: request.headers.cookie });
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>evil</title>');
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const page = await stage.contexts[0].newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const tried = await page.evaluate(async ([origin, id]) => {
    const results = {};
    const attempt = async (name, run) => { try { results[name] = await run(); } catch (error) { results[name] = `refused: ${error.name}`; } };
    await attempt('fetch', async () => (await fetch(`${origin}/api/v1/questions`)).status);
    await attempt('post', async () => (await fetch(`${origin}/api/v1/questions/${id}/decline`, { method: 'POST', headers: { 'X-Askuser': '1', 'Content-Type': 'application/json' }, body: '{}' })).status);
    await attempt('blind', async () => (await fetch(`${origin}/api/v1/questions/${id}/decline`, { method: 'POST', mode: 'no-cors', body: '{}' })).type);
    await attempt('events', () => new Promise((done, fail) => { const stream = new EventSource(`${origin}/api/v1/events`); stream.onmessage = () => done('heard'); stream.onerror = () => { stream.close(); fail(new Error('closed')); }; }));
    await attempt('socket', () => new Promise((done, fail) => { const socket = new WebSocket(`${origin.replace('http', 'ws')}/api/v1/events`); socket.onopen = () => done('open'); socket.onerror = () => fail(new Error('closed')); }));
    await attempt('image', () => new Promise((done, fail) => { const image = new Image(); image.onload = () => done('loaded'); image.onerror = () => fail(new Error('closed')); image.src = `${origin}/assets/icon.svg`; }));
    await attempt('frame', () => new Promise(done => { const frame = document.createElement('iframe'); frame.onload = () => { let inside = null; try { inside = frame.contentDocument?.title; } catch { inside = null; } done(inside ?? 'nothing readable'); }; frame.src = `${origin}/`; document.body.append(frame); }));
    await attempt('form', () => new Promise(done => { const form = document.createElement('form'); form.method = 'post'; form.action = `${origin}/api/v1/questions/${id}/decline`; form.target = 'hidden'; const frame = document.createElement('iframe'); frame.name = 'hidden'; document.body.append(frame, form); frame.onload = () => done('sent'); form.submit(); }));
    return results;
  }, [stage.origin, id]);
  for (const name of ['fetch', 'post', 'events', 'socket', 'image']) assert.match(String(tried[name]), /^refused/, `${name}: ${tried[name]}`);
  assert.notEqual(tried.frame, 'askuser');
  assert.equal(stage.stored(id).state, 'pending');
  // A link to the page itself that names a foreign server, as a query and as a fragment.
  const foreign = encodeURIComponent(`http://127.0.0.1:${server.address().port}/`);
  heard.length = 0;
  for (const link of [`/?gatewayUrl=${foreign}&server=${foreign}&hub=${foreign}&redirect_uri=${foreign}`, `/#server=${foreign}`, `/#pair=${foreign}`]) {
    const lured = await page.context().newPage();
    await lured.goto(stage.origin + link);
    await lured.locator('#main').waitFor();
    await lured.waitForTimeout(300);
    await lured.close();
  }
  assert.deepEqual(heard, [], 'nothing goes to a server that a link names');
  const rebound = await page.context().newPage();
  const reply = await rebound.goto(`http://evil.test:${stage.port}/`);
  assert.equal(reply.status(), 403);
  assert.equal(stage.stored(id).state, 'pending');
  assert.deepEqual(heard.filter(({ authorization, cookie }) => authorization || cookie), []);
  server.close();
};

journeys['the page is small, and painted soon'] = async stage => {
  const page = await stage.device();
  await page.reload();
  await page.locator('#filter').waitFor();
  const figures = await page.evaluate(() => {
    const own = performance.getEntriesByType('resource').filter(entry => !entry.name.includes('/api/'));
    const [load] = performance.getEntriesByType('navigation');
    return { bytes: own.concat(load).reduce((sum, entry) => sum + entry.decodedBodySize, 0), paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime };
  });
  console.log(`  page ${(figures.bytes / 1000).toFixed(1)} kB, first paint after ${figures.paint?.toFixed(0)} ms`);
  assert.ok(figures.bytes > 1000 && figures.bytes <= 60_000, String(figures.bytes));
};

let failed = 0;
const wanted = process.argv.slice(2);
for (const [name, run] of Object.entries(journeys)) {
  if (wanted.length && !wanted.some(word => name.includes(word))) continue;
  const stage = new Stage();
  const began = Date.now();
  try {
    await stage.serve();
    await run(stage);
    for (const context of stage.contexts) for (const page of context.pages()) assert.deepEqual(page.faults ?? [], []);
    console.log(`ok    ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed += 1;
    for (const context of stage.contexts) for (const page of context.pages()) await picture(page, `failed-${failed}`).catch(() => {});
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
  await stage.end();
}
await browser.close();
console.log(failed ? `${failed} failed` : 'all of them hold');
process.exit(failed ? 1 : 0);
