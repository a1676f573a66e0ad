// A server on a store of its own, agents that ask, and browsers that are let in.
import { spawn, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';

const root = resolve(process.cwd());
const askuser = process.env.ASKUSER ?? join(root, 'target/debug/askuser');
if (!existsSync(askuser)) throw new Error(`${askuser} is missing: cargo build`);

export const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP evil.test 127.0.0.1'],
});

export class Stage {
  constructor() {
    this.home = mkdtempSync(join(tmpdir(), 'askuser-web-'));
    this.env = { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', TERM: 'dumb', USER: 'ada', ASKUSER_POPUP: 'none', ASKUSER_NOTIFY: 'false' };
    this.contexts = [];
  }

  /** Starts the server; at the port it had before, if it had one. */
  async serve() {
    this.server = this.serving(`127.0.0.1:${this.port ?? 0}`, 'ada');
    const link = await this.linkOf(this.server);
    this.port = Number(link[1]);
    this.origin = `http://127.0.0.1:${this.port}`;
    this.link = link[0];
    return this;
  }

  serving(listen, user) {
    return spawn(askuser, ['serve', '--listen', listen], { env: { ...this.env, USER: user }, cwd: this.home, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  linkOf(server) {
    let text = '';
    return new Promise((done, fail) => {
      const look = chunk => {
        text += chunk;
        const found = /http:\/\/127\.0\.0\.1:(\d+)\/(#pair=[\w.-]+)/.exec(text);
        if (found) done(found);
      };
      server.stdout.on('data', look);
      server.stderr.on('data', look);
      server.on('exit', code => fail(new Error(`serve ended with ${code}\n${text}`)));
      setTimeout(() => fail(new Error(`no link\n${text}`)), 20_000).unref();
    });
  }

  /** A link for a device of this person, who runs a server on the same store. */
  async linkFor(person) {
    const server = this.serving('127.0.0.1:0', person);
    const [, , code] = await this.linkOf(server);
    server.removeAllListeners('exit');
    server.kill();
    return `${this.origin}/${code}`;
  }

  /** Runs a command to its end; returns what it prints. */
  run(...args) {
    return execFileSync(askuser, args, { env: this.env, cwd: this.home, encoding: 'utf8' });
  }

  /** Leaves a question in the inbox; returns its id. */
  ask(input, ...args) {
    const file = join(this.home, `q${Math.random()}.json`);
    writeFileSync(file, JSON.stringify(input));
    try {
      this.run('ask', file, '--via', 'inbox', '--detach', '--from', 'Builder', ...args);
    } catch (error) {
      if (error.status !== 75) throw new Error(`${error.status} ${error.stderr}`);
      return error.stdout.trim().split('\n').pop().trim();
    }
    throw new Error('not detached');
  }

  /** Runs our own agent, which asks in the inbox; resolves with its exit code. */
  agent(script) {
    writeFileSync(join(this.home, 'script.json'), JSON.stringify(script));
    mkdirSync(join(this.home, 'work'));
    const args = ['agent', '--script', '../script.json', '-p', 'go', '--via', 'inbox'];
    const child = spawn(askuser, args, { env: this.env, cwd: join(this.home, 'work'), stdio: 'ignore' });
    return new Promise(done => child.on('exit', done));
  }

  /** Lets Claude Code's hook ask for permission, with these files in its folder; resolves with what the hook prints. */
  permission(tool, input, why, files) {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(this.home, name), content);
    const content = [{ type: 'text', text: why }, { type: 'tool_use', id: 't', name: tool, input }];
    const transcript_path = join(this.home, 'transcript.jsonl');
    writeFileSync(transcript_path, `${JSON.stringify({ message: { role: 'assistant', content } })}\n`);
    const event = { hook_event_name: 'PermissionRequest', session_id: 's', prompt_id: 'p', cwd: this.home, transcript_path, tool_name: tool, tool_input: input };
    const child = spawn(askuser, ['hook'], { env: this.env, cwd: this.home, stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify(event));
    let said = '';
    child.stdout.on('data', chunk => { said += chunk; });
    return new Promise(done => child.on('exit', () => done(said)));
  }

  read(name) {
    return readFileSync(join(this.home, 'work', name), 'utf8');
  }

  stored(id) {
    const lines = ['inbox', 'log'].flatMap(command => this.run(command, '--json').split('\n').filter(Boolean));
    return lines.map(line => JSON.parse(line)).find(question => question.id === id);
  }

  /** A browser profile of its own, let in. */
  async device(options = {}) {
    const context = await browser.newContext({ viewport: { width: 1024, height: 768 }, ...options });
    this.contexts.push(context);
    // Whatever is missing is not spelled out.
    await context.addInitScript(() => {
      const check = node => {
        const wrong = /.{0,60}(?<!\/dev\/)(\b(null|undefined)\b|\[object).{0,60}/.exec(node.outerHTML ?? node.textContent ?? '');
        if (wrong) console.error(`shown: ${wrong[0]}`);
      };
      const watch = changes => changes.forEach(({ target, addedNodes, type }) => (type === 'childList' ? [...addedNodes] : [target]).forEach(check));
      new MutationObserver(watch).observe(document, { subtree: true, childList: true, characterData: true });
    });
    const page = await context.newPage();
    page.faults = [];
    page.on('pageerror', error => page.faults.push(error.stack));
    page.on('console', message => { if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text())) page.faults.push(message.text()); });
    if (options.paired !== false) await this.pair(page);
    return page;
  }

  async pair(page) {
    if (this.link) { await page.goto(this.link); this.link = null; }
    else {
      await page.goto(this.origin);
      const code = await page.locator('.code-big').textContent();
      await this.letIn(code);
    }
    await page.locator('#filter').waitFor();
  }

  /** Answers the question of `askuser pair` in a terminal. */
  letIn(code, ...args) {
    const command = `${askuser} pair ${code} ${args.join(' ')} --key-delay 0 --success-flash 0`;
    const env = { ...this.env, TERM: 'xterm-256color', COLORFGBG: '15;0' };
    const child = spawn('script', ['-qec', command, '/dev/null'], { env, cwd: this.home, stdio: ['pipe', 'pipe', 'inherit'] });
    let shown = '';
    return new Promise((done, fail) => {
      child.stdout.on('data', chunk => {
        if (!shown.includes('Leave it out') && (shown += chunk).includes('Leave it out')) child.stdin.write('1');
      });
      child.on('exit', code => (code ? fail(new Error(`pair ended with ${code}\n${shown}`)) : done()));
    });
  }

  /** A command at a terminal: `shows` waits for words on its screen, `type` sends keys. */
  terminal(...args) {
    const command = `exec ${askuser} ${args.join(' ')} --key-delay 0 --success-flash 0`;
    const env = { ...this.env, TERM: 'xterm-256color', COLORFGBG: '15;0' };
    const child = spawn('script', ['-qefc', command, '/dev/null'], { env, cwd: this.home, stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    let shown = '';
    child.stdout.on('data', chunk => { shown += chunk; });
    const wait = async words => {
      for (let i = 0; i < 200; i += 1) {
        if (shown.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').includes(words)) return;
        await new Promise(done => setTimeout(done, 100));
      }
      throw new Error(`the terminal does not show ${words}:\n${shown}`);
    };
    return { shows: wait, type: text => child.stdin.write(text), kill: signal => process.kill(-child.pid, signal) };
  }

  stop(signal = 'SIGTERM') {
    return new Promise(done => {
      if (this.server.exitCode !== null || this.server.signalCode !== null) return done();
      this.server.removeAllListeners('exit');
      this.server.on('exit', done);
      this.server.kill(signal);
    });
  }

  async end() {
    for (const context of this.contexts) await context.close();
    if (this.server) await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

export const option = (label, description = 'About it', more = {}) => ({ label, description, ...more });
export const question = (header, text, options, more = {}) => ({ question: text, header, multiSelect: false, options, ...more });
export const database = { questions: [question('Database', 'Which database?', [option('PostgreSQL (Recommended)', 'Robust'), option('SQLite', 'Embedded')])] };
export const two = { questions: [database.questions[0], question('Features', 'Which features?', [option('Search'), option('History')], { multiSelect: true })] };
