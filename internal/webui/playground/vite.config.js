// Everything becomes a file of its own that the server can serve: nothing inline, no other host.
export default {
  base: '/playground/',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 8000,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.txt' },
  },
  worker: { format: 'es' },
};
