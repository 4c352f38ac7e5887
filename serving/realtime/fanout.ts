import type { ChannelRow } from '../../schemas/channels.ts'
import type { Channel } from './channel-name.ts'
import { diffPublications, toWhole } from './delta.ts'
import { FRAME_CODECS, type Frame } from './frame-codec.ts'
import type { PublicationFrame } from './protocol.ts'
import type { PublicationRenderer } from './render-publication.ts'
import type { Socket } from './socket.ts'
import { type SubscriptionView, takesKind } from './subscription-view.ts'

/** A connection as the fan-out sees it. */
export interface Subscriber {
  readonly socket: Socket
  /** The organization whose it is. */
  readonly orgId: string
  /** True: its queue is long, so it leaves the shared topics and is served directly. */
  readonly congested: boolean
  /** Sends, conflates or closes, by the rules for slow consumers. */
  deliver(push: Push): void
  /** Payload bytes that went to this connection. */
  bill(bytes: number): void
}

/** Publications of one event on their way to one literal channel. */
export interface Push {
  readonly literal: string
  /** What the next push of the literal channel replaces: pushes of different facets stand side by side. */
  readonly facet: string
  /** Start of the candle's bucket: the final state of a bucket is not replaced by the next bucket; 0 elsewhere. */
  readonly bucketMs: number
  readonly frames: readonly Frame[]
  readonly payloadBytes: number
  readonly latest: boolean
}

/** What is published, and its position (0 = none). */
export interface OutgoingPublication {
  readonly render: PublicationRenderer
  readonly offset: number
  readonly facet: string
  readonly bucketMs: number
  readonly retraction: boolean
  /** Of a block that is not confirmed yet. */
  readonly pending: boolean
}

/** Options of a subscription. */
export interface JoinOptions {
  readonly view: SubscriptionView
  /** Positions up to here are not sent. */
  readonly after: number
}

interface GroupMember {
  /** Served directly instead of through the topic. */
  isDirect: boolean
  /** Has what the next delta is made to; true where there are none. */
  hasBase: boolean
  /** Positions up to here are not sent. */
  readonly after: number
  /** The group's bytes when the member last joined the topic. */
  billedBytes: number
}

interface SubscriberGroup {
  readonly row: ChannelRow
  readonly literal: string
  readonly view: SubscriptionView
  readonly topic: string
  readonly members: Map<Subscriber, GroupMember>
  /** Members of a list that nothing was sent to since they joined; empty where the channel has no list. */
  readonly newcomers: Set<Subscriber>
  directMembers: number
  /** Payload bytes published so far. */
  bytes: number
  /** Payload of the last publication, where the next is a delta to it; "" = none. */
  base: string
}

/** Subjects to literal channels to subscribers: a publication is written once per literal channel. */
export class Fanout {
  readonly #publish: (topic: string, frame: Frame) => void
  readonly #subjects = new Map<string, Map<string, SubscriberGroup>>()
  /** Groups of each subscriber by literal channel. */
  readonly #memberships = new Map<Subscriber, Map<string, SubscriberGroup>>()
  #published = 0
  #pending = 0

  constructor(publish: (topic: string, frame: Frame) => void) {
    this.#publish = publish
  }

  /** Length of what was given to shared topics since the start. */
  get published(): number {
    return this.#published
  }

  /** Subscriptions to trades of blocks that are not confirmed yet. */
  get pending(): number {
    return this.#pending
  }

  /** True with at least one subscriber. */
  hasSubscribers(subject: string): boolean {
    return this.#subjects.has(subject)
  }

  join(subscriber: Subscriber, channel: Channel, options: JoinOptions): void {
    const group = this.#groupOf(channel, options.view)
    if (options.view.pending) this.#pending += 1
    const memberships = this.#memberships.get(subscriber) ?? new Map<string, SubscriberGroup>()
    this.#memberships.set(subscriber, memberships.set(channel.literal, group))
    const hasBase = !options.view.delta
    const isDirect = subscriber.congested || options.after > 0 || !hasBase
    group.members.set(subscriber, {
      isDirect,
      hasBase,
      after: options.after,
      billedBytes: group.bytes,
    })
    if (channel.row.query !== null) group.newcomers.add(subscriber)
    if (isDirect) group.directMembers += 1
    else subscriber.socket.join(group.topic)
  }

  leave(subscriber: Subscriber, channel: Channel): void {
    const memberships = this.#memberships.get(subscriber)
    const group = memberships?.get(channel.literal)
    const member = group?.members.get(subscriber)
    if (memberships === undefined || group === undefined || member === undefined) return
    this.bill(subscriber, group, member)
    if (member.isDirect) group.directMembers -= 1
    else subscriber.socket.leave(group.topic)
    if (group.view.pending) this.#pending -= 1
    group.members.delete(subscriber)
    group.newcomers.delete(subscriber)
    memberships.delete(channel.literal)
    if (memberships.size === 0) this.#memberships.delete(subscriber)
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
      if (group.newcomers.size > 0) group.newcomers.clear()
      const { publications, payloadBytes } = outgoing.render(group.view)
      if (publications.length === 0) continue
      const { frames, firstFrames } = encodePublications(group, publications)
      group.bytes += payloadBytes
      sent += group.members.size
      if (group.members.size > group.directMembers) this.#publishToTopic(group.topic, frames)
      if (group.directMembers > 0)
        this.#deliverDirectly(group, outgoing, { frames, firstFrames, payloadBytes })
    }
    return sent
  }

  /** Sends what was sent to the others last to those who joined since. */
  publishToNewcomers(subject: string, outgoing: OutgoingPublication): number {
    let sent = 0
    for (const group of this.#subjects.get(subject)?.values() ?? []) {
      if (group.newcomers.size === 0) continue
      const newcomers = [...group.newcomers]
      group.newcomers.clear()
      const { publications, payloadBytes } = outgoing.render(group.view)
      if (publications.length === 0) continue
      // The others have the last of these publications as their base, so that the group's stays what it is.
      const encoded = { ...encodePublications(group, publications), payloadBytes }
      sent += newcomers.length
      for (const subscriber of newcomers) {
        const member = group.members.get(subscriber)
        if (member !== undefined) this.#deliver({ group, subscriber, member }, outgoing, encoded)
      }
    }
    return sent
  }

  #publishToTopic(topic: string, frames: readonly Frame[]): void {
    for (const frame of frames) {
      this.#publish(topic, frame)
      this.#published += frame.length
    }
  }

  #deliverDirectly(
    group: SubscriberGroup,
    outgoing: OutgoingPublication,
    encoded: DirectPublications,
  ): void {
    const { offset } = outgoing
    for (const [subscriber, member] of group.members) {
      if (!member.isDirect || (offset > 0 && offset <= member.after)) continue
      this.#deliver({ group, subscriber, member }, outgoing, encoded)
    }
  }

  /** Sends to one member, which can join the topic from then on where this was its first payload. */
  #deliver(
    { group, subscriber, member }: Recipient,
    { facet, bucketMs }: OutgoingPublication,
    { frames, firstFrames, payloadBytes }: DirectPublications,
  ): void {
    const { literal, row, view } = group
    // A delta whose base was replaced in the queue could not be read.
    const latest = row.delivery === 'latest' && !view.delta
    const { hasBase } = member
    member.hasBase = true
    subscriber.deliver({
      literal,
      facet,
      bucketMs,
      payloadBytes,
      latest,
      frames: hasBase ? frames : firstFrames,
    })
    if (!hasBase) this.#updateDelivery(subscriber, group, member)
  }

  /** Brings a subscriber's subscriptions in line with whether it is congested, and its bill up to date. */
  reconcile(subscriber: Subscriber, channels: Iterable<Channel>): void {
    const memberships = this.#memberships.get(subscriber)
    for (const { literal } of channels) {
      const group = memberships?.get(literal)
      const member = group?.members.get(subscriber)
      if (group === undefined || member === undefined) continue
      this.bill(subscriber, group, member)
      this.#updateDelivery(subscriber, group, member)
    }
  }

  #updateDelivery(subscriber: Subscriber, group: SubscriberGroup, member: GroupMember): void {
    if (member.isDirect === subscriber.congested || member.after > 0 || !member.hasBase) return
    this.bill(subscriber, group, member)
    member.isDirect = subscriber.congested
    group.directMembers += member.isDirect ? 1 : -1
    if (member.isDirect) subscriber.socket.leave(group.topic)
    else subscriber.socket.join(group.topic)
  }

  bill(subscriber: Subscriber, group: SubscriberGroup, member: GroupMember): void {
    if (!member.isDirect) subscriber.bill(group.bytes - member.billedBytes)
    member.billedBytes = group.bytes
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
      newcomers: new Set(),
      directMembers: 0,
      bytes: 0,
      base: '',
    }
    groups.set(topic, group)
    return group
  }
}

interface EncodedPublications {
  readonly frames: readonly Frame[]
  /** For members that have no base: the first one is whole. */
  readonly firstFrames: readonly Frame[]
}

type DirectPublications = EncodedPublications & Pick<Push, 'payloadBytes'>

/** A member of a group that is sent to by itself. */
interface Recipient {
  readonly group: SubscriberGroup
  readonly subscriber: Subscriber
  readonly member: GroupMember
}

/** Writes publications for a group, and moves its base on where it takes deltas. */
const encodePublications = (
  group: SubscriberGroup,
  publications: readonly PublicationFrame[],
): EncodedPublications => {
  const { view, literal } = group
  const codec = FRAME_CODECS[view.encoding]
  if (!view.delta) {
    const frames = publications.map((one) => codec.formatPush(literal, one))
    return { frames, firstFrames: frames }
  }
  const patches = diffPublications(group.base, publications)
  group.base = patches.base
  const frames = patches.publications.map((one) => codec.formatPush(literal, one))
  const firstWhole = publications.slice(0, 1).map((one) => codec.formatPush(literal, toWhole(one)))
  return { frames, firstFrames: [...firstWhole, ...frames.slice(1)] }
}
