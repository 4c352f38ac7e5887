import type { ChannelRow } from '../../schemas/channels.ts'
import type { Channel } from './channel-name.ts'
import { formatPush } from './protocol.ts'
import type { PublicationRenderer } from './render-publication.ts'
import type { Socket } from './socket.ts'
import { type SubscriptionView, takesKind } from './subscription-view.ts'

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

/** Publications of one event on their way to one literal channel. */
export interface Push {
  readonly literal: string
  /** What the next push of the literal channel replaces: pushes of different facets stand side by side. */
  readonly facet: string
  readonly texts: readonly string[]
  readonly payloadBytes: number
  readonly latest: boolean
}

/** What is published, and its position (0 = none). */
export interface OutgoingPublication {
  readonly render: PublicationRenderer
  readonly offset: number
  readonly facet: string
  readonly retraction: boolean
  /** Of a block that is not confirmed yet. */
  readonly pending: boolean
}

/** How a subscriber joins. */
export interface JoinWish {
  readonly view: SubscriptionView
  /** Positions up to here are not sent. */
  readonly after: number
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
  readonly view: SubscriptionView
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
  /** Groups of each subscriber by literal channel. */
  readonly #joined = new Map<Subscriber, Map<string, SubscriberGroup>>()
  #published = 0
  #pending = 0

  constructor(publish: (topic: string, text: string) => void) {
    this.#publish = publish
  }

  /** Text bytes given to shared topics since the start. */
  get published(): number {
    return this.#published
  }

  /** Subscriptions to trades of blocks that are not confirmed yet. */
  get pending(): number {
    return this.#pending
  }

  /** True with at least one subscriber. */
  listens(subject: string): boolean {
    return this.#subjects.has(subject)
  }

  join(subscriber: Subscriber, channel: Channel, wish: JoinWish): void {
    const group = this.#groupOf(channel, wish.view)
    if (wish.view.pending) this.#pending += 1
    const joined = this.#joined.get(subscriber) ?? new Map<string, SubscriberGroup>()
    this.#joined.set(subscriber, joined.set(channel.literal, group))
    const own = subscriber.congested || wish.after > 0
    group.members.set(subscriber, { own, after: wish.after, billedTo: group.bytes })
    if (own) group.owns += 1
    else subscriber.socket.join(group.topic)
  }

  leave(subscriber: Subscriber, channel: Channel): void {
    const joined = this.#joined.get(subscriber)
    const group = joined?.get(channel.literal)
    const member = group?.members.get(subscriber)
    if (joined === undefined || group === undefined || member === undefined) return
    this.#settle(subscriber, group, member)
    if (member.own) group.owns -= 1
    else subscriber.socket.leave(group.topic)
    if (group.view.pending) this.#pending -= 1
    group.members.delete(subscriber)
    joined.delete(channel.literal)
    if (joined.size === 0) this.#joined.delete(subscriber)
    if (group.members.size > 0) return
    const groups = this.#subjects.get(channel.subject)
    groups?.delete(group.topic)
    if (groups?.size === 0) this.#subjects.delete(channel.subject)
  }

  /** Sends to every subscriber of the subject, each under the name that it subscribed with. */
  publish(subject: string, outgoing: OutgoingPublication): number {
    let sent = 0
    for (const group of this.#subjects.get(subject)?.values() ?? []) {
      if (!takesKind(group.view, outgoing)) continue
      const { publications, payloadBytes } = outgoing.render(group.view)
      if (publications.length === 0) continue
      const texts = publications.map((publication) => formatPush(group.literal, publication))
      group.bytes += payloadBytes
      sent += group.members.size
      if (group.members.size > group.owns) this.#share(group.topic, texts)
      if (group.owns > 0) deliverDirectly(group, outgoing, { texts, payloadBytes })
    }
    return sent
  }

  #share(topic: string, texts: readonly string[]): void {
    for (const text of texts) {
      this.#publish(topic, text)
      this.#published += text.length
    }
  }

  /** Brings a subscriber's subscriptions in line with whether it is congested, and its bill up to date. */
  review(subscriber: Subscriber, channels: Iterable<Channel>): void {
    const joined = this.#joined.get(subscriber)
    for (const { literal } of channels) {
      const group = joined?.get(literal)
      const member = group?.members.get(subscriber)
      if (group === undefined || member === undefined) continue
      this.#settle(subscriber, group, member)
      this.#move(subscriber, group, member)
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

  #groupOf(channel: Channel, view: SubscriptionView): SubscriberGroup {
    const { subject, literal, row } = channel
    const groups = this.#subjects.get(subject) ?? new Map<string, SubscriberGroup>()
    this.#subjects.set(subject, groups)
    const topic = `${literal}${view.name}`
    const group = groups.get(topic) ?? {
      row,
      literal,
      view,
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
  { offset, facet }: OutgoingPublication,
  { texts, payloadBytes }: Pick<Push, 'texts' | 'payloadBytes'>,
): void => {
  const push = { literal, facet, texts, payloadBytes, latest: row.delivery === 'latest' }
  for (const [subscriber, member] of members) {
    if (member.own && (offset === 0 || offset > member.after)) subscriber.deliver(push)
  }
}
