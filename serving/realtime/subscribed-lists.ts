import type { Channel } from './channel-name.ts'

/** A channel whose lists a query gives, as far as it has subscribers. */
export interface SubscribedList {
  readonly channel: Channel
  /** Organizations that it has subscribers of. */
  readonly orgIds: Iterable<string>
}

interface Entry extends SubscribedList {
  /** Subscribers of each organization. */
  readonly subscribers: Map<string, number>
}

/** The lists that have subscribers, by subject. */
export class SubscribedLists {
  readonly #bySubject = new Map<string, Entry>()

  join(channel: Channel, orgId: string): void {
    const { subject } = channel
    const list = this.#bySubject.get(subject) ?? newEntry(channel)
    this.#bySubject.set(subject, list)
    list.subscribers.set(orgId, (list.subscribers.get(orgId) ?? 0) + 1)
  }

  leave({ subject }: Channel, orgId: string): void {
    const list = this.#bySubject.get(subject)
    if (list === undefined) return
    const left = (list.subscribers.get(orgId) ?? 0) - 1
    if (left > 0) list.subscribers.set(orgId, left)
    else list.subscribers.delete(orgId)
    if (list.subscribers.size === 0) this.#bySubject.delete(subject)
  }

  all(): readonly SubscribedList[] {
    return [...this.#bySubject.values()]
  }
}

const newEntry = (channel: Channel): Entry => {
  const subscribers = new Map<string, number>()
  return { channel, subscribers, orgIds: { [Symbol.iterator]: () => subscribers.keys() } }
}
