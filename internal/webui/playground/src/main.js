import 'graphiql/setup-workers/vite'; // the editor's workers as files of our own; the default asks another host for them
import 'graphiql/style.css';
import './page.css';

import { GraphiQL } from 'graphiql';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

import { fetcher } from './fetcher.js';
import { tabs } from './tabs.js';

createRoot(document.getElementById('playground')).render(
  createElement(GraphiQL, { fetcher, defaultTabs: tabs, defaultEditorToolsVisibility: 'variables' }),
);
