import { lineDiff } from '../lib/text-diff.js';

const MARKS = { same: '  ', gone: '− ', new: '+ ' } as const;

/** Two texts as lines that went, came, and stayed. */
export const Diff = ({ before, after }: { readonly before: string; readonly after: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
  <pre class="diff" tabIndex={0}>
    {lineDiff(before, after).map(({ kind, text }, index) => (
      <span key={index} class={kind}>
        {MARKS[kind]}
        {text}
      </span>
    ))}
  </pre>
);
