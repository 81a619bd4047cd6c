/* global document, fetch, SwaggerUIBundle, TextEncoder */

const form = document.getElementById('key-form');
const input = document.getElementById('key');
const problem = document.getElementById('problem');

/** A header carries bytes, so that a key of any letters arrives as the node has it. */
const asHeader = (key) => String.fromCharCode(...new TextEncoder().encode(key));

/** Reads the description and shows it; asks for the key where the node demands one. */
async function show(key) {
  problem.textContent = '';
  const headers = key === null ? {} : { 'x-api-key': asHeader(key) };
  const answer = await fetch('openapi.json', { headers });
  const body = await answer.json();
  if (answer.ok) {
    form.remove();
    render(body, key);
  } else if (answer.status === 401) {
    form.hidden = false;
    input.focus();
    if (key !== null) problem.textContent = 'The node refused this API key.';
  } else {
    problem.textContent = `The node answered ${answer.status} ${body.code}: ${body.error}`;
  }
}

function render(spec, key) {
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#api',
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    validatorUrl: null,
    persistAuthorization: false,
    onComplete: () => {
      if (key !== null) ui.preauthorizeApiKey('apiKey', asHeader(key));
    },
  });
}

const run = (key) =>
  show(key).catch((error) => {
    form.hidden = false;
    problem.textContent = `The description cannot be read: ${error.message}`;
  });

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const key = input.value;
  input.value = '';
  run(key);
});

run(null);
