import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { timeText, valueText } from '../lib/format.js';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'search' | 'password' | 'number' | 'datetime-local' | 'url';
  /** What can be chosen; a pair is a value and what it is called. */
  readonly options?: readonly (string | readonly [string, string])[];
  readonly rows?: number;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly list?: readonly string[];
}

/** A labelled field: a text, a choice, or a long text. */
export function Field(props: FieldProps) {
  const { label, value, onInput, type = 'text', options, rows, hint, placeholder, required, list } = props;
  const id = useId();
  const shared = {
    id,
    value,
    required: required === true,
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options !== undefined ? (
        <select {...shared}>
          {options
            .map((option) => (typeof option === 'string' ? ([option, option || 'any'] as const) : option))
            .map(([option, name]) => (
              <option key={option} value={option}>
                {name}
              </option>
            ))}
        </select>
      ) : rows !== undefined ? (
        <textarea {...shared} rows={rows} placeholder={placeholder} />
      ) : (
        <input
          {...shared}
          // The library tells fields of different types apart by their types alone.
          type={type as 'text'}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          list={list === undefined ? undefined : `${id}-list`}
        />
      )}
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <small id={`${id}-hint`} class="quiet">
          {hint}
        </small>
      )}
    </div>
  );
}

/** A box to tick, with its words beside it. */
export function Tick({
  label,
  isOn,
  onChange,
  required = false,
}: {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly required?: boolean;
}) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={isOn}
        required={required}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** A form that the page itself handles. */
export function Form({
  label,
  onSubmit,
  children,
  ...rest
}: {
  readonly label: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly role?: 'search';
}) {
  return (
    <form
      {...rest}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** A dialog over the page; Escape and its button close it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  // A dialog that goes with its page says so too, when nobody waits for it any more.
  const isThere = useRef(false);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    isThere.current = true;
    dialog?.showModal();
    return () => {
      isThere.current = false;
      dialog?.close();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={() => isThere.current && onClose()}>
      <div class="bar">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain" onClick={onClose} aria-label="Close">
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** Names and values, each a line. */
export const Facts = ({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value === null || value === undefined || value === '' ? '–' : value}</dd>
      </div>
    ))}
  </dl>
);

export const Time = ({ at }: { readonly at: string | null | undefined }) =>
  at === null || at === undefined || at === '' ? <>–</> : <time dateTime={at}>{timeText(at)}</time>;

export const Json = ({ value }: { readonly value: unknown }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
  <pre tabIndex={0}>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
);

export interface Column<R> {
  readonly name: string;
  readonly of: (row: R) => ComponentChildren;
}

/** A table that scrolls sideways by itself where the page is narrow. */
export function Table<R>({
  label,
  rows,
  columns,
  keyOf,
}: {
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R, index: number) => string;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <div class="wide" tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ name, of }) => (
                <td key={name}>{of(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export const cell = (value: unknown): string => valueText(value);
