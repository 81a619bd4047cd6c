import { render } from 'preact';
import './router.js';
import { Shell } from './shell.js';
import './style.css';

render(<Shell />, document.getElementById('app')!);
