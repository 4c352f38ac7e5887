import { CUBES } from '../../schemas/cubes/all.ts'
import type { Cube } from '../../schemas/cubes/types.ts'

const START = '<!-- cubes -->'
const END = '<!-- /cubes -->'

const rowOf = ({ name, groups, selectors, joins = [], baseCost, feed, about }: Cube): string => {
  const cells = [
    `\`${name}\``,
    groups.join(', '),
    about,
    Object.keys(selectors).join(', '),
    joins.join(', '),
    String(baseCost),
    feed === undefined ? '' : `\`${feed}\``,
  ]
  return `| ${cells.join(' | ')} |`
}

/** The table of cubes, in the order of the schema. */
const cubeTable = (): string =>
  [
    '| cube | groups | one row | selectors | joins | base cost | feed |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...CUBES.map(rowOf),
  ].join('\n')

/** The page with its table of cubes as they are. */
export const withCubeTable = (page: string): string => {
  const [before, rest = ''] = page.split(START)
  const [, after] = rest.split(END)
  if (after === undefined) throw new Error('the page has no place for the table of cubes')
  return `${before}${START}\n${cubeTable()}\n${END}${after}`
}

/** Queries of a page: its blocks marked `graphql`. */
export const exampleQueries = (page: string): readonly string[] =>
  [...page.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, text = '']) => text)
