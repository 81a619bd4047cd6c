import type { ComponentType } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { health } from './api.js';
import { addressOf, FIRST_VIEW } from './lib/route.js';
import { place } from './router.js';
import { agent, apiKey, askForKey, theme, wasRefused } from './session.js';
import { announcement, Problem } from './ui/notices.js';
import { Field, Form } from './ui/parts.js';
import { useLoad } from './ui/use-load.js';
import { VIEWS } from './views/views.js';

/** The page around the views: who looks, where one can go, and what is announced. */
export function Shell() {
  const { view } = place.value;
  const known = VIEWS.find(({ name }) => name === view) ?? VIEWS.find(({ name }) => name === FIRST_VIEW)!;
  useEffect(() => {
    document.title = `${known.title} · mnemesh console`;
  }, [known.title]);
  if (askForKey.value) return <KeyGate />;
  return (
    <div class="shell">
      <header class="top">
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <Name />
        <AgentField />
        <ThemeSwitch />
      </header>
      <nav class="views" aria-label="Views">
        <ul>
          {VIEWS.map(({ name, title }) => (
            <li key={name}>
              <a href={addressOf(name)} aria-current={name === known.name ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        <LoadedView key={known.name} load={known.load} />
      </main>
      <p class="unseen" role="status" aria-live="polite">
        {announcement.value}
      </p>
    </div>
  );
}

/** A view comes with the first visit to it, so that the first page stays small. */
function LoadedView({ load }: { readonly load: () => Promise<ComponentType> }) {
  const [found, setFound] = useState<{ View: ComponentType | null; error: unknown }>({
    View: null,
    error: null,
  });
  useEffect(() => {
    load().then(
      (View) => setFound({ View, error: null }),
      (error: unknown) => setFound({ View: null, error }),
    );
  }, [load]);
  if (found.error !== null) return <Problem error={found.error} />;
  return found.View === null ? null : <found.View />;
}

function Name() {
  const { value } = useLoad('health', () => health());
  return (
    <strong>
      mnemesh{' '}
      {value !== null && (
        <span class="quiet">
          {value.version} {value.status === 'ok' ? '' : '(does not work)'}
        </span>
      )}
    </strong>
  );
}

function AgentField() {
  const id = useId();
  const [text, setText] = useState(agent.value);
  return (
    <Form
      class="field"
      label="Agent"
      onSubmit={() => {
        agent.value = text.trim();
      }}
    >
      <label for={id}>Agent</label>
      <input
        id={id}
        value={text}
        placeholder="nobody"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={() => {
          agent.value = text.trim();
        }}
      />
      {apiKey.value !== '' && (
        <button
          type="button"
          onClick={() => {
            apiKey.value = '';
            wasRefused.value = false;
            askForKey.value = true;
          }}
        >
          Forget the key
        </button>
      )}
    </Form>
  );
}

function ThemeSwitch() {
  const isDark =
    theme.value === '' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark';
  return (
    <button
      type="button"
      onClick={() => {
        theme.value = isDark ? 'light' : 'dark';
      }}
    >
      {isDark ? 'Light' : 'Dark'}
    </button>
  );
}

/** Asks for the key of the node; nothing else is shown before. */
function KeyGate() {
  const [key, setKey] = useState('');
  return (
    <main class="gate" id="main">
      <h1>mnemesh console</h1>
      <p>
        This node demands its API key (<code>SVC_API_KEY</code>). The tab keeps it until it is closed.
      </p>
      {wasRefused.value && (
        <p class="notice bad" role="alert">
          That was not the key of this node.
        </p>
      )}
      <Form
        label="API key"
        onSubmit={() => {
          apiKey.value = key.trim();
          askForKey.value = false;
        }}
      >
        <Field label="API key" type="password" value={key} onInput={setKey} required />
        <button type="submit" class="main">
          Open
        </button>
      </Form>
    </main>
  );
}
