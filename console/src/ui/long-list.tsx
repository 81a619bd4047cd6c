import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { rowWindow } from '../lib/row-window.js';

const ROW_HEIGHT = 64;
/** The next page is asked for when so many rows are left below. */
const ROWS_AHEAD = 60;

interface LongListProps<R> {
  readonly label: string;
  readonly rows: readonly R[];
  /** True while there are more rows than those that are here. */
  readonly hasMore: boolean;
  readonly onMore: () => void;
  readonly keyOf: (row: R) => string;
  readonly children: (row: R) => ComponentChildren;
}

/** A list of which only the rows that show are in the document. The arrow keys, Home and End move from row to row. */
export function LongList<R>({ label, rows, hasMore, onMore, keyOf, children }: LongListProps<R>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 600 });
  const wanted = useRef<number | null>(null);
  useEffect(() => {
    const element = box.current!;
    const look = () => setView({ scrollTop: element.scrollTop, height: element.clientHeight });
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  const { first, end, offset, height } = rowWindow(rows.length, ROW_HEIGHT, view);
  useEffect(() => {
    if (hasMore && end + ROWS_AHEAD >= rows.length) onMore();
  }, [hasMore, end, rows.length, onMore]);
  useEffect(() => {
    if (wanted.current === null) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] a`);
    if (row === null || row === undefined) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = Number((event.target as Element).closest<HTMLElement>('[data-index]')?.dataset['index'] ?? -1);
    const to = target(event.key, at, rows.length);
    if (to === null || box.current === null) return;
    event.preventDefault();
    wanted.current = to;
    const { scrollTop, clientHeight } = box.current;
    const top = to * ROW_HEIGHT;
    if (top < scrollTop) box.current.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + clientHeight)
      box.current.scrollTop = top + ROW_HEIGHT - clientHeight;
    setView({ scrollTop: box.current.scrollTop, height: clientHeight });
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the links inside
    <div class="long-list" ref={box} onKeyDown={onKeyDown}>
      <ul aria-label={label} style={{ height: `${height}px` }}>
        {rows.slice(first, end).map((row, index) => (
          <li
            key={keyOf(row)}
            data-index={first + index}
            aria-setsize={hasMore ? -1 : rows.length}
            aria-posinset={first + index + 1}
            style={{ transform: `translateY(${offset + index * ROW_HEIGHT}px)` }}
          >
            {children(row)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function target(key: string, at: number, count: number): number | null {
  if (count === 0) return null;
  const bounded = (index: number) => Math.min(count - 1, Math.max(0, index));
  switch (key) {
    case 'ArrowDown':
      return bounded(at + 1);
    case 'ArrowUp':
      return bounded(at - 1);
    case 'PageDown':
      return bounded(at + 8);
    case 'PageUp':
      return bounded(at - 8);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
