import {
  channelKind,
  isWebhookChannel,
  kindRow,
  type WebhookChannel,
} from '../../schemas/webhooks.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import type { StoredMessage } from '../queries/webhook-tasks.ts'
import { channelSubjects, endpointChannels } from './endpoint-index.ts'
import { levelSubject } from './event-context.ts'
import type { Filter } from './filter.ts'
import type { BodyData } from './message.ts'

/** Subjects of a stored message, from its data. */
export const storedSubjects = (channel: WebhookChannel, data: BodyData): readonly string[] => {
  const { needs, subjectKeys } = kindRow(channelKind(channel))
  if (needs === 'price-levels') return [levelSubject(String(data.a), Number(data.lv))]
  return subjectKeys.flatMap((key) => {
    const value = data[key]
    return typeof value === 'string' ? [value] : []
  })
}

/** Whether an endpoint, as it is configured now, matches a stored message. */
export const matchStoredMessage = (
  endpoint: WebhookEndpoint,
  { channel, body }: Pick<StoredMessage, 'channel' | 'body'>,
  filterOf: (source: string) => Filter,
): boolean => {
  if (!isWebhookChannel(channel) || !endpointChannels(endpoint).includes(channel)) return false
  const { data, timestamp } = JSON.parse(body) as {
    readonly data: BodyData
    readonly timestamp: number
  }
  const endpointSubjects = channelSubjects(channel, endpoint)
  const messageSubjects = storedSubjects(channel, data)
  if (
    endpointSubjects !== null &&
    !messageSubjects.some((subject) => endpointSubjects.includes(subject))
  )
    return false
  const { filter } = endpoint
  return filter === null || filterOf(filter)({ channel, timeMs: timestamp, data }) === 'match'
}
