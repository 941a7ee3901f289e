import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The page is served under /app by the same process that answers its requests.
export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // A data: URL would need a wider Content-Security-Policy than files of our own do.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
});
