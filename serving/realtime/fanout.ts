import type { ChannelRow } from '../../schemas/channels.ts'
import type { Channel } from './channel-name.ts'
import { formatPublication, formatPush } from './protocol.ts'
import type { Socket } from './socket.ts'

/** A connection as the fan-out sees it. */
export interface Subscriber {
  readonly socket: Socket
  /** True: its queue is long, so it leaves the shared topics and is served one by one. */
  readonly congested: boolean
  /** Sends, holds back or gives up, by the rules for slow consumers. */
  deliver(push: Push): void
  /** Payload bytes that went to this connection. */
  bill(bytes: number): void
}

/** One publication on its way to one literal channel. */
export interface Push {
  readonly literal: string
  readonly text: string
  readonly payloadBytes: number
  readonly latest: boolean
}

/** What is published: JSON text of the payload, and its position (0 = none). */
export interface OutgoingPublication {
  readonly data: string
  readonly offset: number
  readonly retraction: boolean
}

interface GroupMember {
  /** Served one by one instead of through the topic. */
  own: boolean
  /** Positions up to here are not sent. */
  readonly after: number
  /** The group's bytes when the member last joined the topic. */
  billedTo: number
}

interface SubscriberGroup {
  readonly row: ChannelRow
  readonly literal: string
  readonly retractions: boolean
  readonly topic: string
  readonly members: Map<Subscriber, GroupMember>
  owns: number
  /** Payload bytes published so far. */
  bytes: number
}

/** Subjects to literal channels to subscribers: a publication is written once per literal channel. */
export class Fanout {
  readonly #publish: (topic: string, text: string) => void
  readonly #subjects = new Map<string, Map<string, SubscriberGroup>>()
  #published = 0

  constructor(publish: (topic: string, text: string) => void) {
    this.#publish = publish
  }

  /** Text bytes given to shared topics since the start. */
  get published(): number {
    return this.#published
  }

  /** True with at least one subscriber. */
  listens(subject: string): boolean {
    return this.#subjects.has(subject)
  }

  join(
    subscriber: Subscriber,
    channel: Channel,
    wish: { readonly retractions: boolean; readonly after: number },
  ): void {
    const group = this.#groupOf(channel, wish.retractions)
    const own = subscriber.congested || wish.after > 0
    group.members.set(subscriber, { own, after: wish.after, billedTo: group.bytes })
    if (own) group.owns += 1
    else subscriber.socket.join(group.topic)
  }

  leave(subscriber: Subscriber, channel: Channel): void {
    const groups = this.#subjects.get(channel.subject)
    for (const [topic, group] of groups ?? []) {
      const member = group.literal === channel.literal ? group.members.get(subscriber) : undefined
      if (member === undefined) continue
      this.#settle(subscriber, group, member)
      if (member.own) group.owns -= 1
      else subscriber.socket.leave(topic)
      group.members.delete(subscriber)
      if (group.members.size === 0) groups?.delete(topic)
    }
    if (groups?.size === 0) this.#subjects.delete(channel.subject)
  }

  /** Sends to every subscriber of the subject, each under the name that it subscribed with. */
  publish(subject: string, { data, offset, retraction }: OutgoingPublication): number {
    const groups = this.#subjects.get(subject)
    if (groups === undefined) return 0
    const publication = formatPublication(data, offset)
    const payloadBytes = Buffer.byteLength(data)
    let sent = 0
    for (const group of groups.values()) {
      if (retraction && !group.retractions) continue
      const text = formatPush(group.literal, publication)
      group.bytes += payloadBytes
      sent += group.members.size
      if (group.members.size > group.owns) {
        this.#publish(group.topic, text)
        this.#published += text.length
      }
      if (group.owns > 0) deliverDirectly(group, { offset, text, payloadBytes })
    }
    return sent
  }

  /** Brings a subscriber's subscriptions in line with whether it is congested, and its bill up to date. */
  review(subscriber: Subscriber, channels: Iterable<Channel>): void {
    for (const { subject, literal } of channels) {
      for (const group of this.#subjects.get(subject)?.values() ?? []) {
        const member = group.literal === literal ? group.members.get(subscriber) : undefined
        if (member === undefined) continue
        this.#settle(subscriber, group, member)
        this.#move(subscriber, group, member)
      }
    }
  }

  #move(subscriber: Subscriber, group: SubscriberGroup, member: GroupMember): void {
    if (member.own === subscriber.congested || member.after > 0) return
    member.own = subscriber.congested
    group.owns += member.own ? 1 : -1
    if (member.own) subscriber.socket.leave(group.topic)
    else subscriber.socket.join(group.topic)
  }

  #settle(subscriber: Subscriber, group: SubscriberGroup, member: GroupMember): void {
    if (!member.own) subscriber.bill(group.bytes - member.billedTo)
    member.billedTo = group.bytes
  }

  #groupOf(channel: Channel, retractions: boolean): SubscriberGroup {
    const { subject, literal, row } = channel
    const groups = this.#subjects.get(subject) ?? new Map<string, SubscriberGroup>()
    this.#subjects.set(subject, groups)
    const topic = retractions ? `${literal}\nretractions` : literal
    const group = groups.get(topic) ?? {
      row,
      literal,
      retractions,
      topic,
      members: new Map(),
      owns: 0,
      bytes: 0,
    }
    groups.set(topic, group)
    return group
  }
}

const deliverDirectly = (
  { members, literal, row }: SubscriberGroup,
  { offset, text, payloadBytes }: { offset: number; text: string; payloadBytes: number },
): void => {
  const push = { literal, text, payloadBytes, latest: row.delivery === 'latest' }
  for (const [subscriber, member] of members) {
    if (member.own && (offset === 0 || offset > member.after)) subscriber.deliver(push)
  }
}
