import { codeOf, count, shortId, shortTime, statuses, tally } from './words.js';
import { treeOf } from './tree.js';

const box = { width: 208, height: 78 };
const pitch = { x: box.width + 18, y: box.height + 54 };
const smallest = 0.7; // of the natural size
const origin = { x: 130, y: 28 }; // of the root's generation, right of the labels

// Picture draws a family as a tree in SVG, and lets the arrow keys walk through it.
export class Picture {
  #container;
  #family;
  #opened = new Set();
  #items = []; // in the order of the picture
  #settled = false; // whether the reader scrolls
  #current; // the key of the item that the Tab key reaches

  constructor(container) {
    this.#container = container;
  }

  get svg() {
    return this.#container.querySelector('svg');
  }

  // show draws a family anew. The focus stays where it is. Until a family is whole, the job that was asked for is kept in the
  // middle; then the reader scrolls.
  show(family, whole) {
    const focused = this.#container.querySelector(':focus')?.dataset.key;
    this.#family = family;
    this.#current = focused ?? this.#current ?? family.id;
    this.#items = inOrder(treeOf(family, this.#opened));
    if (!this.#items.some(({ key }) => key === this.#current)) this.#current = family.id;
    this.#container.replaceChildren(this.#draw());
    if (focused) this.#element(this.#current).focus({ preventScroll: true });
    if (!this.#settled) this.#centre();
    this.#settled ||= whole;
  }

  #draw() {
    const rows = Object.groupBy(this.#items, ({ row }) => row);
    const columns = Math.max(...this.#items.map(({ column }) => column)) + 1;
    const width = origin.x + columns * pitch.x;
    const height = origin.y + Object.keys(rows).length * pitch.y - 24;
    const svg = node('svg', {
      class: 'tree', role: 'tree', 'aria-label': 'Jobs by generation', width, height, viewBox: `0 0 ${width} ${height}`,
    });
    svg.style.maxWidth = `max(100%, ${smallest * width}px)`; // a wide picture shrinks before it has to be scrolled
    const sizes = Map.groupBy(this.#family.jobs, ({ replayGeneration }) => replayGeneration);
    svg.append(...Object.keys(rows).map((row) => label(Number(row), sizes.get(Number(row)).length, width)));
    svg.append(...this.#items.filter(({ parent }) => parent).map((item) => this.#edge(item)));
    svg.append(...this.#items.map((item) => (item.job ? this.#job(item) : this.#more(item))));
    svg.addEventListener('keydown', (event) => this.#walk(event));
    return svg;
  }

  #edge(item) {
    const from = middleOf(item.parent);
    const to = middleOf(item);
    const [start, end] = [from.y + box.height, to.y];
    const middle = (start + end) / 2;
    return node('path', {
      class: this.#family.ancestry.includes(item.key) ? 'edge ancestry' : 'edge',
      d: `M${from.x} ${start}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${end}`,
    });
  }

  #job(item) {
    const { job } = item;
    const { word, sign } = statuses[job.status];
    const requested = job.id === this.#family.id;
    return node(
      'a',
      {
        ...this.#place(item),
        class: `job ${job.status}${requested ? ' requested' : ''}`,
        href: new URL(`/lineage/${job.id}`, location.href),
        ...(requested && { 'aria-current': 'true' }),
      },
      node('rect', { class: 'box', width: box.width, height: box.height, rx: 8 }),
      node('path', { class: 'stripe', d: `M8 0v${box.height}a8 8 0 0 1-8-8v${16 - box.height}a8 8 0 0 1 8-8z` }),
      node('text', { class: 'status', x: 18, y: 25 }, `${sign} ${word}`),
      node('text', { class: 'id', x: box.width - 12, y: 25, 'text-anchor': 'end' }, shortId(job.id)),
      node('text', { x: 18, y: 46 }, `${shortTime(job.createdAt)} · ${count(job.attemptCount, 'attempt')}`),
      node('text', { class: 'code', x: 18, y: 65 }, codeOf(job)),
      ...(requested ? [node('text', { class: 'tag', x: 2, y: -8 }, 'requested')] : []),
    );
  }

  #more(item) {
    const total = Object.values(item.numbers).reduce((a, b) => a + b);
    const element = node(
      'g',
      { ...this.#place(item), class: 'more', 'aria-expanded': 'false' },
      node('rect', { class: 'box under', x: 5, y: 5, width: box.width, height: box.height, rx: 8 }),
      node('rect', { class: 'box', width: box.width, height: box.height, rx: 8 }),
      node('text', { class: 'status', x: 14, y: 25 }, `+ ${count(total, 'more job')}`),
      ...lines(tally(item.numbers)).map((line, i) => node('text', { x: 14, y: 46 + 18 * i }, line)),
    );
    element.addEventListener('click', () => this.#open(item));
    return element;
  }

  // #place tells where an item is, in the picture and for those who can't see it, and whether the Tab key reaches it.
  #place(item) {
    const siblings = item.parent?.children ?? [item];
    return {
      role: 'treeitem', 'aria-level': item.row + 1,
      'aria-setsize': siblings.length, 'aria-posinset': siblings.indexOf(item) + 1,
      'data-key': item.key, tabindex: item.key === this.#current ? 0 : -1,
      transform: `translate(${left(item)} ${top(item)})`,
    };
  }

  // #open draws up to 24 more jobs one by one, and moves the focus to the first of them.
  #open(item) {
    for (const { id } of item.hidden.slice(0, 24)) this.#opened.add(id);
    this.show(this.#family, true);
    this.#focus(item.hidden[0].id);
  }

  #walk(event) {
    const item = this.#items.find(({ key }) => key === event.target.dataset.key);
    const target = this.#neighbour(item, event.key);
    if (target) this.#focus(target.key);
    else if (item.hidden && (event.key === 'Enter' || event.key === ' ')) this.#open(item);
    else return;
    event.preventDefault();
  }

  #neighbour(item, key) {
    const row = this.#items.filter((other) => other.row === item.row);
    const beside = (step) => row[row.indexOf(item) + step];
    const moves = {
      ArrowUp: () => item.parent,
      ArrowDown: () => item.children[0],
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => this.#items[0],
      End: () => this.#items.at(-1),
    };
    return moves[key]?.();
  }

  #focus(key) {
    this.#element(this.#current)?.setAttribute('tabindex', -1);
    this.#current = key;
    this.#element(key).setAttribute('tabindex', 0);
    this.#element(key).focus();
  }

  #element(key) {
    return this.#container.querySelector(`[data-key="${key}"]`);
  }

  #centre() {
    const frame = this.#container.getBoundingClientRect();
    const spot = this.#element(this.#family.id).getBoundingClientRect();
    this.#container.scrollBy(spot.x - frame.x + (spot.width - frame.width) / 2, spot.y - frame.y + (spot.height - frame.height) / 2);
  }
}

// inOrder lists the items of a tree row by row, and tells each its row and its parent.
function inOrder(root) {
  root.row = 0;
  const items = [root];
  for (const item of items) {
    for (const child of item.children) items.push(Object.assign(child, { row: item.row + 1, parent: item }));
  }
  return items;
}

function left(item) {
  return origin.x + item.column * pitch.x;
}

function top(item) {
  return origin.y + item.row * pitch.y;
}

function middleOf(item) {
  return { x: left(item) + box.width / 2, y: top(item) };
}

function label(row, size, width) {
  const y = origin.y + row * pitch.y;
  return node(
    'g',
    { class: 'generation', 'aria-hidden': 'true' },
    node('path', { d: `M0 ${y + box.height + 27}H${width}` }),
    node('text', { class: 'number', x: 12, y: y + 34 }, `Generation ${row}`),
    node('text', { x: 12, y: y + 52 }, count(size, 'job')),
  );
}

// lines breaks a list in two when it is too long for a box.
function lines(list) {
  if (list.length <= 30) return [list];
  const middle = list.indexOf(', ', list.length / 2 - 6) + 2;
  return [list.slice(0, middle).trim(), list.slice(middle)];
}

function node(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
