//! Many at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::json;

use crate::kit::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_add_ideas_and_each_gets_its_own_number() {
    const CLIENTS: usize = 64;
    const IDEAS: usize = 20;
    let world = Arc::new(World::new().await);
    let began = Instant::now();
    let add = |_| {
        let world = world.clone();
        async move {
            let client = world.client().await;
            let mut ids = Vec::new();
            for _ in 0..IDEAS {
                let added = client
                    .post("ideas", &json!({"content": "x"}))
                    .await
                    .unwrap();
                ids.push(added["id"].as_str().unwrap().to_owned());
            }
            ids
        }
    };
    let ids = join_all((0..CLIENTS).map(add)).await;
    let took = began.elapsed();
    let ids: BTreeSet<String> = ids.into_iter().flatten().collect();
    assert_eq!(ids.len(), CLIENTS * IDEAS);
    let rate = (CLIENTS * IDEAS) as f64 / took.as_secs_f64();
    println!("{rate:.0} ideas a second");
    Arc::into_inner(world).unwrap().end().await;
}
