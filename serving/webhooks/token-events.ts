import { kindRow } from '../../schemas/webhooks.ts'
import type { Instruction, Launch, TokenEvent, TokenEvents } from '../../schemas/wire.ts'
import type { EventDraft, MapContext } from './event-context.ts'
import type { BodyData, BodyValue } from './message.ts'

/** Longest name or symbol, UTF-8 bytes. */
const MAX_TEXT_BYTES = 256

/** Where in its transaction an event happened: `3`, or `3.1` inside another instruction. */
const instructionPath = (instruction: Instruction | null): string => {
  if (instruction === null) return ''
  const { index, is_inner_instruction: isInner, inner_instruction_index: inner } = instruction
  return isInner ? `${index}.${inner}` : String(index)
}

/** Cut between characters, so that what is left is text. */
const truncateUtf8 = (text: string): string => {
  if (Buffer.byteLength(text) <= MAX_TEXT_BYTES) return text
  let bytes = 0
  let kept = ''
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > MAX_TEXT_BYTES) break
    kept += character
  }
  return kept
}

const launchBody = (launch: Launch | null): BodyValue | undefined =>
  launch === null
    ? undefined
    : { pa: launch.program_address, pf: launch.protocol_family, pn: launch.protocol_name }

type TokenKey = 'a' | 'n' | 's' | 'dec' | 'cts' | 'lf' | 'mt'

const VALUE_BY_KEY: Readonly<Record<TokenKey, (event: TokenEvent) => BodyValue | undefined>> = {
  a: ({ token }) => token?.address ?? '',
  n: ({ token }) => truncateUtf8(token?.name ?? ''),
  s: ({ token }) => truncateUtf8(token?.symbol ?? ''),
  dec: ({ token }) => (token === null || token.decimals < 0 ? undefined : token.decimals),
  cts: ({ created_at }) => created_at,
  lf: ({ launch_from }) => launchBody(launch_from),
  mt: ({ migrated_to }) => launchBody(migrated_to),
}

const tokenData = (event: TokenEvent, keys: readonly TokenKey[]): BodyData => {
  const data: Record<string, BodyValue> = {}
  for (const key of keys) {
    const value = VALUE_BY_KEY[key](event)
    if (value !== undefined) data[key] = value
  }
  return data
}

/** Events of created or migrated tokens. */
export const tokenEvents = (
  kind: 'token.created' | 'token.migrated',
): ((message: TokenEvents, context: MapContext) => readonly EventDraft[]) => {
  const keys = Object.keys(kindRow(kind).keys) as TokenKey[]
  return ({ events }, { meta }) =>
    events.map((event) => ({
      kind,
      timeMs: event.block?.timestamp || meta.block_time,
      data: tokenData(event, keys),
      subjects: [],
      tokenAddress: event.token?.address ?? '',
      tx: event.transaction?.signature || event.created_tx,
      path: instructionPath(event.instruction),
    }))
}
