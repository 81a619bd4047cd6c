import type { Terminal } from './terminal.js';

const ESC = '\u001b';
/** The alternate screen of the terminal, without a cursor; and back. */
const ENTER = `${ESC}[?1049h${ESC}[?25l`;
const LEAVE = `${ESC}[?25h${ESC}[?1049l`;
const CLEAR = `${ESC}[H${ESC}[2J`;

export const UP = `${ESC}[A`;
export const DOWN = `${ESC}[B`;
const INTERRUPT = '\u0003';

/** True for the keys that end a program on the whole screen. */
export const isQuit = (key: string): boolean => key === 'q' || key === INTERRUPT;

/** The whole screen of a terminal, and the keys that are pressed there. */
export class FullScreen {
  constructor(
    private readonly terminal: Terminal,
    private readonly input: NodeJS.ReadStream,
    private readonly press: (key: string) => void,
  ) {}

  async begin(): Promise<void> {
    await this.terminal.write(ENTER);
    this.input.setRawMode(true);
    this.input.setEncoding('utf8').on('data', this.#take);
  }

  async end(): Promise<void> {
    this.input.off('data', this.#take);
    this.input.setRawMode(false);
    this.input.pause();
    await this.terminal.write(LEAVE);
  }

  draw(screen: string): Promise<void> {
    return this.terminal.write(CLEAR + screen);
  }

  readonly #take = (keys: string): void => {
    for (const key of keys.match(/\u001b\[[A-D]|[^\u001b]/g) ?? []) this.press(key);
  };
}
