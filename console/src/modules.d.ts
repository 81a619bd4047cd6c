declare module 'virtual:routes' {
  import type { ClientRoute } from '../../node/client/routes.js';

  export const ROUTES: readonly ClientRoute[];
}

declare module '*.css';
