import { DOWN, FullScreen, isQuit, UP } from '../full-screen.js';
import type { Terminal } from '../terminal.js';
import { oneLine } from '../views/text.js';
import type { PendingChange, PendingSource, WaitingAction } from './pending-source.js';
import { screenOf, sentenceOf } from './screen.js';

const NOTES_MAX = 5;

/** The pending actions on a terminal, and the keys that decide them. */
export class WatchKeys {
  #actions: readonly WaitingAction[] = [];
  #chosen = 0;
  #notes: string[] = [];
  /** Reads of the list do not overlap. */
  #reading: Promise<void> | null = null;
  #isStale = false;
  readonly #screen: FullScreen;

  constructor(
    private readonly source: PendingSource,
    private readonly terminal: Terminal,
    input: NodeJS.ReadStream,
    private readonly rows: () => number,
  ) {
    this.#screen = new FullScreen(terminal, input, (key) => this.#press(key));
  }

  async begin(): Promise<void> {
    await this.#screen.begin();
    this.#draw();
  }

  end(): Promise<void> {
    return this.#screen.end();
  }

  changed(change: PendingChange): void {
    this.#note(sentenceOf(change));
    void this.read();
  }

  #press(key: string): void {
    if (isQuit(key)) this.source.stop();
    else if (key === 'a' || key === 'd') void this.#decide(key === 'a' ? 'approve' : 'reject');
    else if (key === 'j' || key === DOWN) this.#choose(this.#chosen + 1);
    else if (key === 'k' || key === UP) this.#choose(this.#chosen - 1);
    else if (/^[1-9]$/.test(key)) this.#choose(Number(key) - 1);
  }

  #choose(index: number): void {
    this.#chosen = Math.max(0, Math.min(index, this.#actions.length - 1));
    this.#draw();
  }

  async #decide(how: 'approve' | 'reject'): Promise<void> {
    const action = this.#actions[this.#chosen];
    if (action === undefined) return;
    const answer = await this.source.decide(action.id, how);
    if (!answer.ok) this.#note(`not decided: ${oneLine(answer.error.message)}`);
    else if (answer.value['approved'] === false)
      this.#note(`vote recorded: ${String(answer.value['reason'])}`);
    await this.read();
  }

  #note(note: string): void {
    this.#notes = [...this.#notes, note].slice(-NOTES_MAX);
    this.#draw();
  }

  /** Reads the list again. */
  read(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      const chosen = this.#actions[this.#chosen]?.id;
      const listed = await this.source.waiting();
      if (listed.ok) this.#actions = [...listed.value].reverse();
      else this.#notes.push(listed.error.message);
      // The choice stays on its action, whatever comes and goes around it.
      const again = this.#actions.findIndex(({ id }) => id === chosen);
      this.#choose(again === -1 ? this.#chosen : again);
    }
  }

  #draw(): void {
    const shown = {
      actions: this.#actions,
      chosen: this.#chosen,
      decides: this.source.decides,
      notes: this.#notes,
    };
    void this.#screen.draw(screenOf(shown, this.terminal.columns, this.rows()));
  }
}
