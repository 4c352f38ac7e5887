export function transformSource(path: string): Promise<string>
