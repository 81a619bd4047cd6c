/** Shows that something goes on: a bar on a terminal, lines otherwise, nothing where only JSON is wanted. */
export interface Progress {
  /** Names what begins now. */
  step(label: string): void;
  /** How far the step is. */
  at(done: number, total: number): void;
  /** Leaves the terminal's line free for other output. */
  end(): void;
}

const BAR_CELLS = 24;
const REDRAW_MS = 100;

class TerminalBar implements Progress {
  private label = '';
  private drawnAt = 0;

  step(label: string): void {
    this.label = label;
    this.draw(label);
  }

  at(done: number, total: number): void {
    const now = performance.now();
    if (done < total && now - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = now;
    const filled = Math.round((BAR_CELLS * done) / Math.max(total, 1));
    const bar = '█'.repeat(filled).padEnd(BAR_CELLS, '░');
    this.draw(`${this.label} ${bar} ${done}/${total}`);
  }

  end(): void {
    this.draw('');
  }

  private draw(text: string): void {
    process.stderr.write(`\r\u001b[K${text}`);
  }
}

class Lines implements Progress {
  private label = '';
  private quarter = 0;

  step(label: string): void {
    this.label = label;
    this.quarter = 0;
    process.stderr.write(`${label}\n`);
  }

  at(done: number, total: number): void {
    const quarter = Math.floor((4 * done) / Math.max(total, 1));
    if (quarter <= this.quarter) return;
    this.quarter = quarter;
    process.stderr.write(`${this.label}: ${done}/${total}\n`);
  }

  end(): void {}
}

const SILENT: Progress = { step: () => {}, at: () => {}, end: () => {} };

/** Progress on standard error. */
export function progressFor(json: boolean): Progress {
  if (json) return SILENT;
  return process.stderr.isTTY ? new TerminalBar() : new Lines();
}
