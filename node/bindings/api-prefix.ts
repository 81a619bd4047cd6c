/** All operations live under this prefix (interface §9). */
export const API_PREFIX = '/api/v1';
