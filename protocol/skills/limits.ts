/** Limits of skills, with their units (reference-gaps §9). */

/** Files of one skill besides its text, and the bytes of all of them with the text. */
export const SKILL_FILES_MAX = 4096;
export const SKILL_BYTES_MAX = 64 * 1024 * 1024;
/** A longer file is stored in pieces, so that each is a small operation for peers and fits into an import. */
export const PIECE_BYTES_MAX = 512 * 1024;
/** Pieces of the files of one skill. */
export const SKILL_PIECES_MAX = SKILL_FILES_MAX + SKILL_BYTES_MAX / PIECE_BYTES_MAX;
/** The text of a skill after its front matter. */
export const SKILL_BODY_BYTES_MAX = PIECE_BYTES_MAX;
export const FRONT_MATTER_BYTES_MAX = 65_536;
export const FRONT_MATTER_DEPTH_MAX = 16;
export const SKILL_NAME_LENGTH_MAX = 64;
export const SKILL_DESCRIPTION_LENGTH_MAX = 1024;
export const SKILL_LICENSE_LENGTH_MAX = 500;
export const SKILL_COMPATIBILITY_LENGTH_MAX = 500;
export const SKILL_TOOLS_MAX = 256;
export const SKILL_TOOL_BYTES_MAX = 256;
/** Namespaces whose reflections a skill composes with. */
export const SKILL_COMPOSES_MAX = 32;
/** The path of a file of a skill, and one name in it. */
export const RESOURCE_PATH_BYTES_MAX = 1024;
export const RESOURCE_NAME_BYTES_MAX = 255;
export const RESOURCE_DEPTH_MAX = 32;
/** A longer file is not shown; an export writes it. */
export const RESOURCE_SHOWN_BYTES_MAX = 8 * 1024 * 1024;
/** Files and their bytes that one transaction stores; a skill with more is stored in several. */
export const SKILL_BATCH_FILES_MAX = 64;
export const SKILL_BATCH_BYTES_MAX = 768 * 1024;
/** Newest versions of one name that concurrent registrations may leave; one of them counts. */
export const SKILL_HEADS_MAX = 64;
/** Files of a skill that was not registered in this time are removed. */
export const SKILL_UPLOAD_SECONDS = 3600;
export const SKILL_SWEEP_MS = 600_000;
/** Tokens of the reflections that a skill is composed with. */
export const COMPOSE_TOKENS = 4000;
export const COMPOSE_TOKENS_MAX = 32_000;
/** Reflections of one namespace that are looked at, the newest first; of all of them, so many of the best are tried. */
export const COMPOSE_REFLECTIONS_MAX = 500;
/** Sources of a reflection that become files of a skill. */
export const PROMOTE_SOURCES_MAX = 200;
