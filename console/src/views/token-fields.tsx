import { useRef } from 'preact/hooks';
import { TOKEN_OPERATIONS, type TokenOperation, withItem } from '../lib/tokens.js';
import { announce } from '../ui/notices.js';
import { Dialog, Tick } from '../ui/parts.js';

const WORDS: Readonly<Record<TokenOperation, string>> = {
  read: 'read: find and read memories',
  write: 'write: store, change and remove; it does not read',
  admin: 'admin: what only admins do, if its agent is one',
};

/** What a token may do. */
export const Operations = ({
  chosen,
  onChange,
}: {
  readonly chosen: readonly TokenOperation[];
  readonly onChange: (chosen: readonly TokenOperation[]) => void;
}) => (
  <fieldset>
    <legend>May</legend>
    {TOKEN_OPERATIONS.map((each) => (
      <Tick
        key={each}
        label={WORDS[each]}
        isOn={chosen.includes(each)}
        onChange={(isOn) => onChange(withItem(TOKEN_OPERATIONS, chosen, each, isOn))}
      />
    ))}
  </fieldset>
);

/** Shows a token once; it is gone when the dialog closes. */
export function TokenOnce({ token, onClose }: { readonly token: string; readonly onClose: () => void }) {
  const text = useRef<HTMLTextAreaElement>(null);
  const copy = async (): Promise<void> => {
    text.current?.select();
    try {
      await navigator.clipboard.writeText(token);
      announce('Copied');
    } catch {
      // A page over plain HTTP may not reach the clipboard; the text is selected.
      announce('The token is selected: copy it with the keyboard');
    }
  };
  return (
    <Dialog title="The new token" onClose={onClose}>
      <p>
        <b>Copy it now: it is shown once and kept nowhere.</b> Who has it can do what it permits. A program
        sends it as <code>authorization: Bearer …</code>, in place of the API key.
      </p>
      <div class="field">
        <label for="token-once">Token</label>
        <textarea
          id="token-once"
          ref={text}
          class="mono"
          rows={6}
          readOnly
          value={token}
          spellcheck={false}
        />
      </div>
      <div class="row">
        <button type="button" class="main" onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
