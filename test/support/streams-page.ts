import type { ChannelKey } from '../../schemas/channel-keys.ts'
import { CHANNELS, type ChannelParameter, type ChannelRow } from '../../schemas/channels.ts'

const BEGIN = '<!-- channels: written by npm run generate -->'
const END = '<!-- end of channels -->'

const PARAMETER_NAMES: Readonly<Record<ChannelParameter, string>> = {
  token: 'TOKEN',
  pool: 'POOL',
  pair: 'TOKEN-TOKEN',
  wallet: 'WALLET',
  resolution: 'RESOLUTION',
  ranking: 'RANKING[_LAUNCHPAD]',
  wholeRanking: 'RANKING',
  newRanking: 'new',
  eventSlug: 'MARKET_ID_OR_CONDITION',
  outcomeToken: 'OUTCOME_TOKEN',
}

const channelName = ({ prefix, parameters }: ChannelRow): string => {
  const words = parameters.map((parameter) => PARAMETER_NAMES[parameter])
  return prefix.startsWith('pred:')
    ? `${prefix}:${words.join()}:act`
    : `${prefix}:${['CHAIN', ...words].join('_')}`
}

/** Keys of an object inside an object that are shown beside it; larger ones are those of a channel of their own. */
const MAX_INNER_KEYS = 15

const innerText = (inner: Readonly<Record<string, ChannelKey>>): string =>
  Object.keys(inner).length > MAX_INNER_KEYS
    ? ' (an object)'
    : ` (an object: ${Object.entries(inner)
        .map(([key, { long }]) => `\`${key}\` ${long}`)
        .join(', ')})`

const keyList = (keys: Readonly<Record<string, ChannelKey>>): string =>
  Object.entries(keys)
    .map(([key, { long, keys: inner }]) =>
      [`\`${key}\` ${long}`, ...(inner === undefined ? [] : [innerText(inner)])].join(''),
    )
    .join(', ')

/** Statistics have each stem once for each of eight windows: one window stands for all. */
const shownKeys = (row: ChannelRow): Readonly<Record<string, ChannelKey>> =>
  Object.fromEntries(
    Object.entries(row.keys).filter(
      ([key]) => !('b1m' in row.keys) || key.length === 1 || key.endsWith('24h'),
    ),
  )

const sendsText = ({ shape, delivery, recoverable }: ChannelRow): string =>
  [
    shape === 'array' ? 'list' : 'object',
    delivery === 'latest' ? 'latest value' : 'every event',
    ...(recoverable ? ['recoverable'] : []),
  ].join(', ')

const channelTables = (): string => {
  const rows = CHANNELS.map(
    (row) =>
      `| \`${channelName(row)}\` | ${sendsText(row)} | ${row.aliases.map((name) => `\`${name}\``).join(' ')} |`,
  )
  const seen = new Map<object, readonly ChannelRow[]>()
  for (const row of CHANNELS) seen.set(row.keys, [...(seen.get(row.keys) ?? []), row])
  const keys = [...seen.values()].map(
    (families) =>
      `| ${families.map(({ prefix }) => `\`${prefix}\``).join(' ')} | ${families[0] ? keyList(shownKeys(families[0])) : ''} |`,
  )
  return [
    '| channel | sends | also as |',
    '| --- | --- | --- |',
    ...rows,
    '',
    'Keys by short and long name (of statistics the window `24h`; the others are `1m` `5m` `15m` `30m` `1h` `4h` `6h`):',
    '',
    '| channels | keys |',
    '| --- | --- |',
    ...keys,
  ].join('\n')
}

/** The page of streams with the tables of channels as the rows say. */
export const withChannelTables = (page: string): string => {
  const begin = page.indexOf(BEGIN) + BEGIN.length
  const end = page.indexOf(END)
  return `${page.slice(0, begin)}\n\n${channelTables()}\n\n${page.slice(end)}`
}
