export const ROOT: string
export const PREPARED: string
export const PACKAGES_FILE: string
export function preparedPath(source: string): string
export function readPrepared(source: string): string | undefined
