export { nearest } from '../protocol/nearest.js';
