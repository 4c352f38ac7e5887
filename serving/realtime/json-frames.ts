import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { FrameCodec } from './frame-codec.ts'
import {
  type Body,
  type Command,
  isObject,
  MAX_COMMANDS,
  MAX_INBOUND_BYTES,
  type PublicationFrame,
  type Reply,
  toCommand,
} from './protocol.ts'

/** The protocol in JSON: one object per line. */
export const JSON_FRAMES: FrameCodec = {
  parse: (message) => {
    const lines = Buffer.from(message.buffer, message.byteOffset, message.length)
      .toString()
      .split('\n', MAX_COMMANDS)
    if (lines.length > 1 && lines.at(-1)?.trim() === '') lines.pop()
    const commands: Command[] = []
    for (const line of lines) {
      const object = parseObject(line)
      const command = object && toCommand(object)
      if (command === undefined) return undefined
      commands.push(command)
    }
    return commands
  },
  formatReply: (reply) => formatReply(reply),
  formatPush: (literal, publication) =>
    `{"push":{"channel":${JSON.stringify(literal)},"pub":${formatPublication(publication)}}}`,
  formatUnsubscribe: (literal, why) =>
    `{"push":{"channel":${JSON.stringify(literal)},"unsubscribe":${JSON.stringify(why)}}}`,
  ping: '{}',
  join: (frames) => frames.join('\n'),
}

const parseObject = (line: string): Body | undefined => {
  try {
    const value = parseJson(line, { maxLength: MAX_INBOUND_BYTES })
    return isObject(value) ? value : undefined
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return undefined
  }
}

const formatReply = (reply: Reply): string => {
  if (reply.kind === 'legacy-pong') return '{"channel":"pong"}'
  if (reply.kind === 'error') return `{"id":${reply.id},"error":${JSON.stringify(reply.error)}}`
  const { id, method, result, publications } = reply
  const text = JSON.stringify(result)
  if (publications === undefined) return `{"id":${id},"${method}":${text}}`
  const comma = text === '{}' ? '' : ','
  const list = publications.map(formatPublication).join(',')
  return `{"id":${id},"${method}":${text.slice(0, -1)}${comma}"publications":[${list}]}}`
}

/** Payloads of a subscription that takes deltas are text in text. */
const formatPublication = ({ data, offset, kind }: PublicationFrame): string => {
  const value = kind === 'value' ? data : JSON.stringify(data)
  const position = offset > 0 ? `,"offset":${offset}` : ''
  return `{"data":${value}${position}${kind === 'patch' ? ',"delta":true' : ''}}`
}
