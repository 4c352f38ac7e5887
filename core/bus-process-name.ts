import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { open } from 'lmdb'
import { isLive, type Owner, thisOwner } from './bus-embedded-owner.ts'

/** A name that this process has until it lets go of it; the next process on the same folder takes it up. */
export interface ProcessName {
  readonly name: string
  release(): void
}

interface Slot {
  readonly name: string
  readonly owner: Owner | null
}

/**
 * Takes the first name of a folder that no live process of this machine has, or makes one. Processes that share a folder
 * get different names, and one that starts again gets its own back.
 */
export const takeName = (folder: string): ProcessName => {
  const place = [hostname()]
  let taken: { readonly key: (string | number)[]; readonly name: string } | undefined
  inNames(folder, (slots) => {
    for (let index = 0; taken === undefined; index += 1) {
      const key = [...place, index]
      const slot = slots.get(key)
      if (slot?.owner && isLive(slot.owner)) continue
      const name = slot?.name ?? randomUUID()
      slots.putSync(key, { name, owner: thisOwner() })
      taken = { key, name }
    }
  })
  const { key, name } = taken ?? { key: [...place, 0], name: randomUUID() }
  return {
    name,
    release: () => inNames(folder, (slots) => slots.putSync(key, { name, owner: null })),
  }
}

const openNames = (folder: string) => {
  const path = join(folder, '.names')
  mkdirSync(path, { recursive: true })
  return open<Slot, (string | number)[]>({ path, noSubdir: false, overlappingSync: false })
}

const inNames = (folder: string, work: (slots: ReturnType<typeof openNames>) => void): void => {
  const slots = openNames(folder)
  try {
    slots.transactionSync(() => work(slots))
  } finally {
    slots.close()
  }
}
