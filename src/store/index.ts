// Files, locks and SQLite behind small async interfaces, one implementation per engine. May import: schema.
export * from './asks.ts';
export * from './backup.ts';
export * from './blobs.ts';
export * from './events.ts';
export * from './files.ts';
export * from './home.ts';
export * from './inside-folder.ts';
export * from './keys.ts';
export * from './lock.ts';
export * from './projects.ts';
export * from './results.ts';
export * from './sessions.ts';
export * from './sqlite.ts';
export * from './sign-ins.ts';
export * from './tokens.ts';
export * from './redactor.ts';
export * from './secrets.ts';
