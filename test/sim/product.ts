import { plainMesh } from './plain-mesh.js';

export const product = plainMesh;
