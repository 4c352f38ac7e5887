import { CUBES } from '../../schemas/cubes/all.ts'
import type { Cube } from '../../schemas/cubes/types.ts'
import { OPERATOR_ROWS } from '../../serving/graphql/operators.ts'

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

/** The table of operators, in the order of the schema. */
const operatorTable = (): string =>
  [
    '| operator | of | meaning |',
    '| --- | --- | --- |',
    ...OPERATOR_ROWS.map(({ name, of, about }) => `| \`${name}\` | ${of.join(', ')} | ${about} |`),
  ].join('\n')

const withTable = (page: string, name: string, table: string): string => {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [before, rest = ''] = page.split(start)
  const [, after] = rest.split(end)
  if (after === undefined) throw new Error(`the page has no place for the table of ${name}`)
  return `${before}${start}\n${table}\n${end}${after}`
}

/** The page with its tables of cubes and operators as they are. */
export const withGraphqlTables = (page: string): string =>
  withTable(withTable(page, 'cubes', cubeTable()), 'operators', operatorTable())

/** Queries of a page: its blocks marked `graphql`. */
export const exampleQueries = (page: string): readonly string[] =>
  [...page.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, text = '']) => text)
